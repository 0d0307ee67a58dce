// Package renameio stands in for the library of that name, which github.com/coder/hnsw needs to save a graph to a file and
// which does not build for Windows: without a stand-in slkstream would not either. It is that one use and nothing more.
package renameio

import (
	"os"
	"path/filepath"
)

// PendingFile is a temporary file that is to replace another.
type PendingFile struct {
	*os.File
	path string
	done bool
}

// TempFile makes a file that is to replace path, in dir, or beside path if dir is empty.
func TempFile(dir, path string) (*PendingFile, error) {
	if dir == "" {
		dir = filepath.Dir(path)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	return &PendingFile{File: f, path: path}, nil
}

// Cleanup removes the file unless it has replaced the other.
func (p *PendingFile) Cleanup() error {
	if p.done {
		return nil
	}
	p.done = true
	closing := p.Close()
	if err := os.Remove(p.Name()); err != nil {
		return err
	}
	return closing
}

// CloseAtomicallyReplace writes everything down, closes the file and puts it in the other's place.
func (p *PendingFile) CloseAtomicallyReplace() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.path); err != nil {
		return err
	}
	p.done = true
	return nil
}
