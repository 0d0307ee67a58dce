//go:build lean

package table

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The error of a lean build explains how to get Parquet and Arrow.
func TestLean(t *testing.T) {
	for _, name := range []string{"x.parquet", "x.arrow"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := Create(path, false); !errors.Is(err, errLean) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, []byte("PAR1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Reading{}); !errors.Is(err, errLean) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// leftOut says whether a lean build lacks what a test wants, by the error.
func leftOut(err error) bool { return errors.Is(err, errLean) }
