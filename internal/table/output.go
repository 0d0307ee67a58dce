package table

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
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
