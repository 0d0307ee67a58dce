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
	path  string
	force bool
}

// CreateBeside creates a temporary file beside path. An existing file is an error unless force is set. Errors
// name path, which is the user's name.
func CreateBeside(path string, force bool) (*Part, error) {
	if err := mayWrite(path, force); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	var at *os.PathError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s: %w", path, at.Err)
	case err != nil:
		return nil, err
	}
	return &Part{file, path, force}, nil
}

func mayWrite(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case !force:
		return fmt.Errorf("%s exists; --force overwrites it", path)
	}
	return nil
}

// Commit renames the file to its final name. In any case it leaves no temporary file behind.
func (p *Part) Commit(mode os.FileMode) error {
	defer p.Discard()
	if err := errors.Join(p.Chmod(mode), p.Sync(), p.Close()); err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	if err := mayWrite(p.path, p.force); err != nil { // another process may have created it
		return err
	}
	return os.Rename(p.Name(), p.path)
}

// Discard deletes the temporary file. It does nothing after Commit, nor if p is nil.
func (p *Part) Discard() {
	if p != nil {
		p.Close()
		os.Remove(p.Name())
	}
}
