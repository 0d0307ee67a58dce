// Package table streams files of embeddings and of answers: .npy, .npz, CSV, JSON Lines, Parquet and Arrow IPC.
package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// ErrFormat is wrapped by the error of a file that is damaged or does not have the form that
// its name implies.
var ErrFormat = array.ErrFormat

// Row is one item of a file.
type Row struct {
	ID     string // "" if the file has none
	Label  string // "" if the file has none
	Stream string // JSON Lines only
	Model  string // JSON Lines only
	// Attributes are the row's other fields, as JSON; JSON Lines only.
	Attributes json.RawMessage
	Vector     []float32 // valid until the next call of Next
}

// BadRow is the error of a row without a usable vector. Later rows can still be read.
type BadRow struct {
	Row  int64
	ID   string // "" if the row has none that can be read
	Path string
	Err  error
}

func (b *BadRow) Error() string {
	var line *lineError
	if errors.As(b.Err, &line) {
		return fmt.Sprintf("%s: %v", b.Path, b.Err)
	}
	return fmt.Sprintf("%s: row %d: %v", b.Path, b.Row, b.Err)
}

func (b *BadRow) Unwrap() error { return b.Err }

// Source streams the rows of a file. Errors name the file and the row.
type Source interface {
	// Next returns the next row, or io.EOF after the last one. After a BadRow it returns the row that follows.
	Next() (Row, error)
	// Rows returns the number of rows; -1 if it is known only after reading.
	Rows() int64
	Close() error
}

// Sources lists the name endings that Open accepts.
const Sources = ".npy, .npz, .csv, .jsonl, .ndjson, .parquet, .arrow, .arrows, .feather"

// Open opens a file of embeddings; the end of its name selects the form. Every row that Next returns has a
// vector of the same dimension, of finite numbers that are not all zero.
func Open(path string, names Columns) (Source, error) {
	open := map[string]func(*os.File, Columns) (Source, error){ // the caller closes the file
		".npy": openNPY, ".npz": openNPZ, ".csv": openCSV, ".jsonl": openLines, ".ndjson": openLines,
		".parquet": openParquet, ".arrow": openArrow, ".arrows": openArrow, ".feather": openArrow,
	}[strings.ToLower(filepath.Ext(path))]
	if open == nil {
		return nil, fmt.Errorf("%s: %w: its name must end in one of %s", path, ErrFormat, Sources)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%w: it is a directory", ErrFormat)
	}
	var source Source
	if err == nil {
		err = guard(func() error { source, err = open(file, names); return err })
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &checked{source: source, file: file, path: path}, nil
}

// guard turns a panic into an error: the libraries that read Parquet and Arrow panic on some damaged files.
func guard(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: damaged: %v", ErrFormat, p)
		}
	}()
	return read()
}

// checked enforces what Open promises of every row.
type checked struct {
	source    Source
	file      *os.File
	path      string
	row       int64
	dimension int
}

// Note describes how a source is read, if a user should know; else "".
func Note(source Source) string {
	if c, ok := source.(*checked); ok {
		if noted, ok := c.source.(interface{ note() string }); ok {
			return noted.note()
		}
	}
	return ""
}

func (c *checked) Rows() int64 { return c.source.Rows() }

func (c *checked) Close() error {
	return errors.Join(c.source.Close(), c.file.Close())
}

func (c *checked) Next() (row Row, err error) {
	err = guard(func() error { row, err = c.source.Next(); return err })
	if errors.Is(err, io.EOF) && c.source.Rows() >= 0 && c.row < c.source.Rows() {
		err = fmt.Errorf("%w: ends after row %d of %d", ErrFormat, c.row, c.source.Rows())
	}
	if err == io.EOF {
		return Row{}, err
	}
	if err == nil {
		err = c.check(row.Vector)
	}
	at := c.row
	var bad *BadRow
	var line *lineError
	switch {
	case err == nil:
		c.row++
		return row, nil
	case errors.As(err, &bad):
		c.row++
		bad.Row, bad.ID, bad.Path = at, row.ID, c.path
		return Row{}, bad
	case errors.As(err, &line):
		return Row{}, fmt.Errorf("%s: %w", c.path, err)
	}
	return Row{}, fmt.Errorf("%s: row %d: %w", c.path, at, err)
}

func (c *checked) check(vector []float32) error {
	if c.dimension == 0 {
		c.dimension = len(vector)
	}
	if len(vector) == 0 || len(vector) != c.dimension {
		return badRow("%d numbers, the first row has %d", len(vector), c.dimension)
	}
	if bad := record.CheckVector(vector); bad != nil {
		return badRow("%w", bad)
	}
	return nil
}
