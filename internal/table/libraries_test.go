//go:build !lean

package table

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// leftOut says whether a lean build lacks what a test wants, by the error.
func leftOut(error) bool { return false }

func TestAnswersOfLibrariesReadBack(t *testing.T) {
	all, dir := answers(), t.TempDir()
	path := func(end string) string { return filepath.Join(dir, "y"+end) }
	write(t, path(".parquet"), all)
	write(t, path(".arrow"), all)
	type inParquet struct {
		Row          int64   `parquet:"row"`
		ID           string  `parquet:"id"`
		Label        string  `parquet:"label"`
		Confidence   float64 `parquet:"confidence"`
		Calibrated   bool    `parquet:"calibrated"`
		Unknown      bool    `parquet:"unknown"`
		UnknownScore float64 `parquet:"unknownScore"`
	}
	fromParquet, err := parquet.ReadFile[inParquet](path(".parquet"))
	if err != nil || !slices.EqualFunc(fromParquet, all, func(p inParquet, a Answer) bool {
		return p == inParquet{a.Row, a.ID, a.Label, a.Confidence, a.Calibrated, a.Unknown, a.UnknownScore}
	}) {
		t.Errorf("parquet: %d rows: %v", len(fromParquet), err)
	}
	file, err := os.Open(path(".arrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := ipc.NewFileReader(file)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for i := range reader.NumRecords() {
		batch, err := reader.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		for r := range int(batch.NumRows()) {
			if got, want := batch.Column(2).ValueStr(r)+batch.Column(1).ValueStr(r), all[row].Label+all[row].ID; got != want {
				t.Fatalf("arrow row %d: %s, want %s", row, got, want)
			}
			row++
		}
		batch.Release()
	}
	if row != len(all) {
		t.Errorf("arrow: %d rows, want %d", row, len(all))
	}
}

func TestColumnsOfAnotherKind(t *testing.T) {
	type text struct {
		Vector string `parquet:"vector"`
	}
	type none struct {
		Other []float32 `parquet:"other"`
	}
	type short struct {
		Vector []float32 `parquet:"vector"`
	}
	for name, content := range map[string][]byte{
		"text.parquet":  parquetOf(t, []text{{"1,2"}}),
		"none.parquet":  parquetOf(t, []none{{[]float32{1}}}),
		"short.parquet": parquetOf(t, []short{{[]float32{1, 2}}, {[]float32{1}}}),
		"empty.parquet": parquetOf(t, []short{{[]float32{1, 2}}, {nil}}),
	} {
		if _, err := readAll(save(t, name, content)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
