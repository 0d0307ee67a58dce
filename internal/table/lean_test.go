//go:build lean

package table

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A build without Parquet and Arrow says so, and how to get one with them.
func TestLean(t *testing.T) {
	for _, name := range []string{"x.parquet", "x.arrow"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := Create(path, false); !errors.Is(err, errLean) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, []byte("PAR1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Columns{}); !errors.Is(err, errLean) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
