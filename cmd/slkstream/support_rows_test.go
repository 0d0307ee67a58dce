package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/slkstream/slkstream/internal/table"
)

// A bad row that cannot be listed ends the reading with the reason. The rows after it must not be left out in
// silence.
func TestABadRowThatCannotBeListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl") // the second row is bad
	const rows = "{\"vector\":[1]}\n{\"vector\":[0]}\n{\"vector\":[2]}\n"
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	full, used := errors.New("the disk is full"), 0
	use := func(table.Row) error { used++; return nil }
	err := eachRow(path, table.Reading{}, use, func(*table.BadRow) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error %v after %d rows", err, used)
	}
	used = 0
	err = eachRow(path, table.Reading{}, use, func(*table.BadRow) error { return nil })
	if err != nil || used != 2 {
		t.Errorf("error %v after %d rows", err, used)
	}
	if err := eachRow(path, table.Reading{}, use, nil); err == nil {
		t.Error("a bad row is no error")
	}
}
