package table

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/internal/record"
)

// sheet reads a CSV file: with a header of names, or of numbers alone, which are the vector then.
type sheet struct {
	in      *csv.Reader
	layout  layout
	first   []string // the first row, read to see whether it is a header
	numbers []float32
}

func openCSV(file *os.File, how Reading) (*Source, error) {
	in := csv.NewReader(withoutMark(file))
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty", ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	head = slices.Clone(head)
	s := &sheet{in: in}
	if !slices.ContainsFunc(head, func(cell string) bool { return !isNumber(cell) }) {
		s.first = head
		for at := range head {
			s.layout.vector = append(s.layout.vector, at)
		}
		return &Source{Rows: -1, next: s.next}, nil
	}
	if s.layout, err = how.lay(head); err != nil && len(head) == 1 {
		if at := strings.IndexAny(head[0], ";\t|"); at >= 0 {
			return nil, fmt.Errorf("%w: its columns are separated by %q: save it with commas", ErrFormat, head[0][at])
		}
	}
	source := &Source{Rows: -1, next: s.next}
	source.Unread = s.layout.unread
	for _, at := range s.layout.kept {
		source.Kept = append(source.Kept, Column{head[at], record.JSON})
	}
	return source, err
}

// withoutMark returns what follows the byte order mark with which some programs begin a text.
func withoutMark(file io.Reader) io.Reader {
	const mark = "\ufeff"
	in := bufio.NewReader(file)
	if first, _ := in.Peek(len(mark)); string(first) == mark {
		_, _ = in.Discard(len(mark)) // it is buffered
	}
	return in
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}

func (s *sheet) next() (Row, error) {
	cells := s.first
	if s.first = nil; cells == nil {
		var err error
		cells, err = s.in.Read()
		switch {
		case errors.Is(err, csv.ErrFieldCount):
			return Row{}, badRow("%v", err)
		case errors.Is(err, io.EOF):
			return Row{}, io.EOF
		case err != nil:
			return Row{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	row, err := Row{}, error(nil)
	for _, at := range s.layout.kept {
		row.Kept = append(row.Kept, keptCell(cells[at]))
	}
	for i, at := range s.layout.fields {
		if at >= 0 {
			err = cmp.Or(err, rowFields[i].set(&row, cells[at]))
		}
	}
	if err != nil {
		return row, err
	}
	s.numbers = s.numbers[:0]
	for _, at := range s.layout.vector {
		had := len(s.numbers)
		if s.numbers, err = textVector(s.numbers, cells[at]); err != nil {
			return row, err
		}
		if len(s.layout.vector) > 1 && len(s.numbers) != had+1 {
			return row, badRow("%.40q is no number", cells[at])
		}
	}
	row.Vector = s.numbers
	return row, nil
}

// keptCell returns a cell as what JSON would have there: a number, a text, or nothing where it is empty.
func keptCell(cell string) any {
	switch {
	case cell == "":
		return nil
	case isNumber(cell) && json.Valid([]byte(cell)):
		return json.RawMessage(cell)
	}
	return cell
}
