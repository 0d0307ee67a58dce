package table

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Answer is one row of the output.
type Answer struct {
	Row          int64   `json:"row" parquet:"row"`
	ID           string  `json:"id,omitempty" parquet:"id"`
	Label        string  `json:"label" parquet:"label"`
	Confidence   float64 `json:"confidence" parquet:"confidence"`
	Calibrated   bool    `json:"calibrated" parquet:"calibrated"`
	Unknown      bool    `json:"unknown" parquet:"unknown"`
	UnknownScore float64 `json:"unknownScore" parquet:"unknownScore"`
}

// groupOfRows is how many answers are buffered and written together.
const groupOfRows = 8192

// encoder writes answers in one form.
type encoder interface {
	write(*Answer) error
	finish() error
}

// Output is a file of answers that appears, whole, when Commit returns, and not at all before.
type Output struct {
	path    string
	file    *Part
	buffer  *bufio.Writer
	encoder encoder
}

// Create begins a file of answers; the end of its name selects the form. An existing file is an error unless
// force is set.
func Create(path string, force bool) (*Output, error) {
	o := &Output{path: path}
	begin := map[string]func() (encoder, error){
		".jsonl": o.beginLines, ".ndjson": o.beginLines, ".npy": o.beginNPY, ".npz": o.beginNPZ,
		".csv": o.beginCSV, ".parquet": o.beginParquet,
		".arrow": o.beginArrow,
	}[strings.ToLower(filepath.Ext(path))]
	if begin == nil {
		return nil, fmt.Errorf("%s: its name must end in one of .jsonl, .ndjson, .csv, .npy, .npz, .parquet, .arrow", path)
	}
	var err error
	if o.file, err = CreateBeside(path, force); err != nil {
		return nil, err
	}
	o.buffer = bufio.NewWriterSize(o.file, 1<<16)
	if o.encoder, err = begin(); err != nil {
		o.Discard()
		return nil, err
	}
	return o, nil
}

// Print returns an Output that writes JSON Lines to a stream, where nothing is renamed.
func Print(w io.Writer) *Output {
	o := &Output{path: "output", buffer: bufio.NewWriterSize(w, 1<<16)}
	o.encoder = linesEncoder{json.NewEncoder(o.buffer)}
	return o
}

// Write adds an answer.
func (o *Output) Write(a *Answer) error {
	if err := o.encoder.write(a); err != nil {
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
