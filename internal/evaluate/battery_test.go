package evaluate

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
)

// writeSets writes four sets below root, which differ in the files that they have.
func writeSets(t *testing.T, root string) {
	drawn := drawnSet(400, 4, 8)
	numbers := func(of func(i int32) int32) []int32 {
		out := make([]int32, drawn.N)
		for i := range out {
			out[i] = of(int32(i))
		}
		return out
	}
	frames := numbers(func(i int32) int32 { return i / 2 })
	for folder, more := range map[string]map[string][]int32{
		"deep/filmed": {"frame.npy": frames},
		"driven": {
			"frame.npy": frames, "track.npy": numbers(func(i int32) int32 { return i % 40 }),
			"group.npy": numbers(func(i int32) int32 { return i % 5 }),
			"order.npy": numbers(func(i int32) int32 { return int32(drawn.N) - 1 - i }),
		},
		"named": nil, "plain": nil,
	} {
		folder = filepath.Join(root, folder)
		err := os.MkdirAll(folder, 0o755)
		if err == nil {
			err = array.WriteNPYFile(folder+"/X.npy", drawn.Rows, drawn.N, drawn.D)
		}
		if err == nil {
			err = array.WriteNPYFile(folder+"/y.npy", drawn.Labels, drawn.N)
		}
		for name, values := range more {
			if err == nil {
				err = array.WriteNPYFile(folder+"/"+name, values, len(values))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, rows := drawn.classes()
	var names []float32
	for c := range int32(4) {
		names = append(names, drawn.unitMean(rows[c])...)
	}
	if err := array.WriteNPYFile(filepath.Join(root, "named/names.npy"), names, 4, drawn.D); err != nil {
		t.Fatal(err)
	}
}

// Sets are found by the files that they have, in sub-folders too, and their cells follow from these: nothing names
// a set.
func TestBatteryCellsFollowFromTheFilesOfASet(t *testing.T) {
	root := t.TempDir()
	writeSets(t, root)
	folders, err := FindSets(root)
	if err != nil || len(folders) != 4 {
		t.Fatalf("%v, %v", folders, err)
	}
	for i, want := range []struct {
		streams, files   int
		orders, supports []string
	}{
		{16, 8, []string{"rows"}, []string{"class", "first"}},                    // deep/filmed
		{16, 4, []string{"rows"}, []string{"group"}},                             // driven: with and without tracks
		{16, 2 * (4 + 4 + 1), []string{"bursts", "shuffled"}, []string{"class"}}, // named: with, without, and alone
		{16, 8, []string{"bursts", "shuffled"}, []string{"class"}},               // plain
	} {
		set, err := ReadSet(folders[i])
		if err != nil {
			t.Fatal(err)
		}
		count, orders, supports := map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, cell := range BatteryCells(set.Part(200)) {
			count[cell.Kind]++
			orders[cell.Order], supports[cell.Support] = true, true
		}
		if count["stream"] != want.streams || count["file"] != want.files {
			t.Errorf("%s: cells %v", set.Name, count)
		}
		if got := slices.Sorted(maps.Keys(orders)); !slices.Equal(got, want.orders) {
			t.Errorf("%s: orders %v", set.Name, got)
		}
		if got := slices.Sorted(maps.Keys(supports)); !slices.Equal(got, want.supports) {
			t.Errorf("%s: examples by %v", set.Name, got)
		}
	}
}

// A part of a recorded set is its beginning; of another set, rows of as many classes as leave enough of each.
func TestPartOfASet(t *testing.T) {
	root := t.TempDir()
	writeSets(t, root)
	driven, err := ReadSet(filepath.Join(root, "driven"))
	if err != nil {
		t.Fatal(err)
	}
	part, last := driven.Part(30), int32(driven.N-1)
	if part.N != 30 || !slices.Equal(part.row(1), driven.row(last-1)) || part.Frames[29] != driven.Frames[last-29] ||
		part.Tracks[3] != driven.Tracks[last-3] || part.Labels[7] != driven.Labels[last-7] {
		t.Errorf("not the first rows in the set's order: %+v", part.Labels)
	}
	plain := drawnSet(400, 4, 8)
	ids, rows := plain.Part(2 * leastPart).classes()
	if len(ids) != 2 || len(rows[ids[0]])+len(rows[ids[1]]) != 2*leastPart {
		t.Errorf("classes %v of %d and %d rows", ids, len(rows[ids[0]]), len(rows[ids[1]]))
	}
}

// Every cell of every kind of set runs: the defaults and each rival are far above chance on classes that are far
// apart, and confidence, known items called unknown and strangers are scored.
func TestBatteryRuns(t *testing.T) {
	root := t.TempDir()
	writeSets(t, root)
	folders, err := FindSets(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		set, err := ReadSet(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range BatteryCells(set) {
			if cell.Episode == 8 || cell.Shots == 5 && cell.Teach > 0 { // the same calls as the others
				continue
			}
			row, err := cell.Run(t.Context(), set, 1)
			if err != nil {
				t.Fatal(err)
			}
			if row.Right < .9 || row.ECE == nil || row.Strangers == nil || row.UnknownFalse == nil {
				t.Errorf("%+v", row)
			}
			if want := 6; cell.Kind == "stream" && len(row.Rivals) != want || len(row.Rivals) == 0 {
				t.Errorf("%+v: rivals %v", cell, row.Rivals)
			}
			for rival, right := range row.Rivals {
				if right < .5 {
					t.Errorf("%+v: %s is right for %.2f", cell, rival, right)
				}
			}
		}
	}
}
