// Package table streams files of embeddings and of answers: .npy, .npz, CSV, JSON Lines, Parquet and Arrow IPC.
package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// ErrFormat is wrapped by the error of a file that is damaged or does not have the form that
// its name implies.
var ErrFormat = array.ErrFormat

// Row is one item of a file. What the file does not have is empty.
type Row struct {
	ID, Label, Stream, Frame, Track string
	Time                            time.Time
	Model                           string // JSON Lines only
	// Attributes are the row's other fields, as JSON; JSON Lines only.
	Attributes json.RawMessage
	Vector     []float32 // valid until the next call of Next
	Kept       []any     // values of the first of Source.Kept; nil: missing

	number int64 // from 0
	line   int64 // JSON Lines only, from 1
}

// Where names the row as errors do: by its line, where the file has lines, else by its number.
func (r *Row) Where() string {
	if r.line > 0 {
		return fmt.Sprintf("line %d", r.line)
	}
	return fmt.Sprintf("row %d", r.number)
}

// BadRow is the error of a row without a usable vector. Later rows can still be read.
type BadRow struct {
	Row int64
	ID  string // "" if the row has none that can be read
	// Stream is that of the row; "" if it has none that can be read.
	Stream string
	Kept   []any // as of a good row; nil if they cannot be read
	Path   string
	Err    error
}

func (b *BadRow) Error() string {
	var line *lineError
	if errors.As(b.Err, &line) {
		return fmt.Sprintf("%s: %v", b.Path, b.Err)
	}
	return fmt.Sprintf("%s: row %d: %v", b.Path, b.Row, b.Err)
}

func (b *BadRow) Unwrap() []error { return []error{ErrFormat, b.Err} }

// Source streams the rows of a file. Errors name the file and the row.
type Source struct {
	Rows int64  // number of rows; -1 if it is known only after reading
	Note string // how the file is read, if a user should know; else ""
	// Kept are the columns of Row.Kept, with Reading.Keep. Of JSON Lines they are known only after the last row.
	Kept []Column
	// Unread are the columns, of these, that no field is read from; not of JSON Lines.
	Unread []string

	next      func() (Row, error) // of the file's form, without what Open promises
	close     func() error        // of the file's form; nil: nothing to close
	file      *os.File
	path      string
	row       int64
	dimension int
}

// Sources lists the name endings that Open accepts.
const Sources = ".npy, .npz, .csv, .jsonl, .ndjson, .parquet, .arrow, .arrows, .feather"

// IsName says whether a name ends as those of files do.
func IsName(name string) bool {
	end := strings.ToLower(filepath.Ext(name))
	return end != "" && slices.Contains(strings.Split(Sources, ", "), end)
}

// Open opens a file of embeddings; the end of its name selects the form. Every row that Next returns has a
// vector of the same dimension, of finite numbers that are not all zero.
func Open(path string, how Reading) (*Source, error) {
	open := map[string]func(*os.File, Reading) (*Source, error){ // the caller closes the file
		".npy": openNPY, ".npz": openNPZ, ".csv": openCSV, ".jsonl": openLines, ".ndjson": openLines,
		".parquet": openParquet, ".arrow": openArrow, ".arrows": openArrow, ".feather": openArrow,
	}[strings.ToLower(filepath.Ext(path))]
	if open == nil {
		return nil, fmt.Errorf("%s: its name must end in one of %s", path, Sources)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%w: it is a directory", ErrFormat)
	}
	var source *Source
	if err == nil {
		err = guard(func() error { source, err = open(file, how); return err })
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	source.file, source.path = file, path
	return source, nil
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

// Close closes the file.
func (s *Source) Close() error {
	var err error
	if s.close != nil {
		err = s.close()
	}
	return errors.Join(err, s.file.Close())
}

// Next returns the next row, or io.EOF after the last one. After a BadRow it returns the row that follows.
func (s *Source) Next() (row Row, err error) {
	err = guard(func() error { row, err = s.next(); return err })
	if errors.Is(err, io.EOF) && s.row < s.Rows {
		err = fmt.Errorf("%w: ends after row %d of %d", ErrFormat, s.row, s.Rows)
	}
	if err == io.EOF {
		return Row{}, err
	}
	if err == nil {
		err = s.check(row.Vector)
	}
	at := s.row
	var bad *BadRow
	var line *lineError
	switch {
	case err == nil:
		s.row++
		row.number = at
		return row, nil
	case errors.As(err, &bad):
		s.row++
		bad.Row, bad.ID, bad.Stream, bad.Kept, bad.Path = at, row.ID, row.Stream, row.Kept, s.path
		return Row{}, bad
	case errors.As(err, &line):
		return Row{}, fmt.Errorf("%s: %w", s.path, err)
	}
	return Row{}, fmt.Errorf("%s: row %d: %w", s.path, at, err)
}

func (s *Source) check(vector []float32) error {
	if s.dimension == 0 {
		s.dimension = len(vector)
	}
	if len(vector) == 0 || len(vector) != s.dimension {
		return badRow("%d numbers, the first row has %d", len(vector), s.dimension)
	}
	if bad := record.CheckVector(vector); bad != nil {
		return badRow("%w", bad)
	}
	return nil
}
