package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Part is a temporary file beside the path that it gets once it is whole.
type Part struct {
	*os.File
	path string
}

// CreateBeside creates a temporary file beside path. Errors name path, which is the user's name.
func CreateBeside(path string) (*Part, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	var at *os.PathError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s: %w", path, at.Err)
	case err != nil:
		return nil, err
	}
	return &Part{file, path}, nil
}

// Commit renames the file to its final name. In any case it leaves no temporary file behind.
func (p *Part) Commit(mode os.FileMode) error {
	defer p.Discard()
	err := errors.Join(p.Chmod(mode), p.Sync(), p.Close())
	if err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	return nil
}

// Discard deletes the temporary file. It does nothing after Commit, nor if p is nil.
func (p *Part) Discard() {
	if p != nil {
		p.Close()
		os.Remove(p.Name())
	}
}
