package main

import (
	"errors"
	"io"
	"testing"

	"github.com/slkstream/slkstream/internal/table"
)

// badSecond is a source of three rows, of which the second is bad.
type badSecond struct{ read int }

func (s *badSecond) Next() (table.Row, error) {
	switch s.read++; s.read {
	case 2:
		return table.Row{}, &table.BadRow{Row: 1, Err: errors.New("a zero row")}
	case 4:
		return table.Row{}, io.EOF
	}
	return table.Row{}, nil
}

func (s *badSecond) Rows() int64 { return 3 }

func (s *badSecond) Close() error { return nil }

// A bad row that cannot be listed ends the reading with the reason. The rows after it must not be left out in
// silence.
func TestABadRowThatCannotBeListed(t *testing.T) {
	full, used := errors.New("the disk is full"), 0
	use := func(table.Row) error { used++; return nil }
	err := eachRowOf(&badSecond{}, use, func(*table.BadRow) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error %v after %d rows", err, used)
	}
	used = 0
	if err := eachRowOf(&badSecond{}, use, func(*table.BadRow) error { return nil }); err != nil || used != 2 {
		t.Errorf("error %v after %d rows", err, used)
	}
	if err := eachRowOf(&badSecond{}, use, nil); err == nil {
		t.Error("a bad row is no error")
	}
}
