package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// groupOfRows is how many answers are buffered and written together.
const groupOfRows = 8192

// encoder writes rows in one form: a value for each column, nil where there is none.
type encoder interface {
	write(values []any) error
	finish() error
}

// Output is a file of answers that appears, whole, when Commit returns, and not at all before.
type Output struct {
	path    string
	file    *Part
	buffer  *bufio.Writer
	begin   func(to io.Writer, columns []Column) (encoder, error)
	encoder encoder
	values  []any
}

// encoders are the forms of answers, by the end of the file's name.
var encoders = map[string]func(io.Writer, []Column) (encoder, error){
	".jsonl": beginLines, ".ndjson": beginLines, ".npy": beginNPY, ".npz": beginNPZ, ".csv": beginCSV, ".parquet": beginParquet,
	".arrow": beginArrow,
}

// Create begins a file of answers; the end of its name selects the form. An existing file is an error unless
// force is set. Begin follows.
func Create(path string, force bool) (*Output, error) {
	o := &Output{path: path, begin: encoders[strings.ToLower(filepath.Ext(path))]}
	if o.begin == nil {
		return nil, fmt.Errorf("%s: its name must end in one of .jsonl, .ndjson, .csv, .npy, .npz, .parquet, .arrow", path)
	}
	_, err := o.begin(io.Discard, answerColumns(nil)) // a lean build cannot
	if err == nil {
		o.file, err = CreateBeside(path, force)
	}
	if err != nil {
		return nil, err
	}
	o.buffer = bufio.NewWriterSize(o.file, 1<<16)
	return o, nil
}

// Print returns an Output that writes JSON Lines to a stream, where nothing is renamed.
func Print(w io.Writer) *Output {
	return &Output{path: "output", buffer: bufio.NewWriterSize(w, 1<<16), begin: beginLines}
}

// Begin says which columns of the input are kept, before the first Write: each answer has their values.
func (o *Output) Begin(kept []Column) (err error) {
	o.encoder, err = o.begin(o.buffer, answerColumns(kept))
	return err
}

// Write adds an answer.
func (o *Output) Write(a *Answer) error {
	o.values = a.values(o.values[:0])
	if err := o.encoder.write(o.values); err != nil {
		return fmt.Errorf("%s: row %d: %w", o.path, a.Row, err)
	}
	return nil
}

// Commit renames the file to its final name. In any case it leaves no temporary file behind.
func (o *Output) Commit() error {
	defer o.Discard()
	err := o.encoder.finish()
	if err == nil {
		err = o.buffer.Flush()
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", o.path, err)
	case o.file == nil:
		return nil
	}
	return o.file.Commit(0o644)
}

// Discard deletes the temporary file. After Commit it does nothing.
func (o *Output) Discard() { o.file.Discard() }

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
