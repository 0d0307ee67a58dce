package evaluate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/vector"
)

func TestBadFoldersAreRefused(t *testing.T) {
	write := func(folder, name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s/%s: %v", folder, name, err)
		}
	}
	for _, c := range []struct {
		says string
		make func(folder string) error
	}{
		{"X.npy", func(string) error { return nil }},
		{"y.npy", func(f string) error { return array.WriteNPYFile(f+"/X.npy", []float32{1, 2}, 2, 1) }},
		{"wanted integers", func(f string) error {
			return errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{1, 2}, 2, 1),
				array.WriteNPYFile(f+"/y.npy", []float32{0, 1}, 2))
		}},
		{"3 labels for 2 rows", func(f string) error {
			return errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{1, 2}, 2, 1),
				array.WriteNPYFile(f+"/y.npy", []int32{0, 1, 1}, 3))
		}},
		{"label -2 of row 1", func(f string) error {
			return errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{1, 2}, 2, 1),
				array.WriteNPYFile(f+"/y.npy", []int32{0, -2}, 2))
		}},
		{"row 1 holds NaN", func(f string) error {
			var zero float32
			return errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{1, zero / zero}, 2, 1),
				array.WriteNPYFile(f+"/y.npy", []int32{0, 1}, 2))
		}},
		{"0 rows", func(f string) error {
			return errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{}, 0, 4),
				array.WriteNPYFile(f+"/y.npy", []int32{}, 0))
		}},
		{"truncated", func(f string) error {
			err := errors.Join(array.WriteNPYFile(f+"/X.npy", []float32{1, 2}, 2, 1),
				array.WriteNPYFile(f+"/y.npy", []int32{0, 1}, 2))
			return errors.Join(err, os.Truncate(f+"/X.npy", 130))
		}},
	} {
		folder := t.TempDir()
		write(folder, c.says, c.make(folder))
		if _, err := ReadSet(folder); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v", c.says, err)
		}
	}
}

func TestReadSetTakesTheNovelClasses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "some-set")
	if err := errors.Join(os.Mkdir(folder, 0o755), array.WriteNPYFile(folder+"/X.npy", []uint8{0, 255}, 2, 1),
		array.WriteNPYFile(folder+"/y.npy", []int32{3, -1}, 2),
		array.WriteNPYFile(folder+"/novel.npy", []int32{3}, 1)); err != nil {
		t.Fatal(err)
	}
	set, err := ReadSet(folder)
	if err != nil || set.Name != "some-set" || set.N != 2 || set.D != 1 || set.Rows[1] != 255 ||
		len(set.Novel) != 1 {
		t.Errorf("%+v, %v", set, err)
	}
	ids, rows := set.classes()
	if len(ids) != 1 || len(rows[3]) != 1 {
		t.Errorf("a row of unknown class is in a class: %v", rows)
	}
}

func TestNeighboursAreCountedByDistance(t *testing.T) {
	set := digits()
	r, err := MeasureNeighbours(t.Context(), set, 5, index.Options{Method: "exact"}, 1)
	if err != nil || r.Recall != 1 || r.Chosen != "exact" || r.QuerySeconds <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	lists, err := index.Build(t.Context(), set.Rows, set.N, set.D, index.Options{Rho: 5})
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := lists.Row(0)
	ids[2], ids[4] = -1, 0
	for far := range int32(set.N) { // a row that is not a neighbour: another digit
		if set.Labels[far] != set.Labels[0] {
			ids[3] = far
			break
		}
	}
	truth := SampleNearest(vector.Matrix{Values: set.Rows, N: set.N, D: set.D}, 5, set.N, 1)
	if recall := truth.Recall(func(p int32) []int32 {
		ids,
			_ := lists.Row(int(p))
		return ids
	}); recall > 1-2./float64(5*set.N)+1e-9 {
		t.Errorf("recall %g after two neighbours of a row were spoilt", recall)
	}
	if _, err := MeasureNeighbours(t.Context(), set, set.N, index.Options{}, 1); err == nil {
		t.Error("as many neighbours as rows were found")
	}
}
