//go:build !lean

package table

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/record"
)

// One column of Parquet may hold both ids and labels.
func TestOneColumnOfIDsAndLabels(t *testing.T) {
	type row struct {
		Vector []float32 `parquet:"vector,list"`
		ID     string    `parquet:"id"`
	}
	name := filepath.Join(t.TempDir(), "x.parquet")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[row](file)
	if _, err := w.Write([]row{{[]float32{1, 2}, "a"}, {[]float32{3, 4}, "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	source, err := openParquet(file, Reading{Fields: record.Paths{Vector: "vector", ID: "id", Label: "id"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "b"} {
		if r, err := source.Next(); err != nil || r.ID != want || r.Label != want || len(r.Vector) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
