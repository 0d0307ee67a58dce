package index

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestBadInputIsRefused(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		rows []float32
		n, d int
		o    Options
		says string
	}{
		{"nan", []float32{1, 2, 3, nan}, 2, 2, Options{Rho: 1}, "row 1: value NaN at 1"},
		{"infinite", []float32{1, infinite, 3, 4}, 2, 2, Options{Rho: 1}, "row 0: value +Inf at 1"},
		{"infinite under cosine", []float32{1, 1, -infinite, 4}, 2, 2, Options{Rho: 1, Cosine: true}, "row 1: value -Inf at 0"},
		{"zero under cosine", []float32{1, 1, 0, 0}, 2, 2, Options{Rho: 1, Cosine: true}, "row 1: a zero row has no cosine"},
		{"too large", []float32{1, 1, 3e38, 3e38}, 2, 2, Options{Rho: 1}, "row 1: length"},
		{"mixed lengths", []float32{1, 2, 3}, 2, 2, Options{Rho: 1}, "3 values are not 2 rows of dimension 2"},
		{"no dimension", nil, 0, 0, Options{Rho: 1}, "dimension 0"},
		{"fewer than none", nil, -1, 2, Options{Rho: 1}, "-1 rows"},
		{"negative rho", []float32{1, 2}, 2, 1, Options{Rho: -1}, "rho: -1"},
		{"method", []float32{1, 2}, 2, 1, Options{Rho: 1, Method: "kd-tree"}, `index "kd-tree"`},
		{"floor", []float32{1, 2}, 2, 1, Options{Rho: 1, RecallFloor: 2}, "recall floor: 2"},
	} {
		_, err := Build(context.Background(), c.rows, c.n, c.d, c.o)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSmallAndExtremeInput(t *testing.T) {
	for _, c := range []struct {
		name      string
		n, d, rho int
	}{
		{"none", 0, 3, 2},
		{"one", 1, 3, 2},
		{"two", 2, 3, 5},
		{"no neighbours wanted", 9, 2, 0},
		{"one dimension", 300, 1, 3},
		{"many dimensions", 6, 44604, 3},
		{"all of them", 40, 3, 100},
	} {
		rows := uniform(c.n*c.d, 11)
		for _, method := range Methods() {
			got, err := Build(context.Background(), rows, c.n, c.d, Options{Rho: c.rho, Method: method})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if r := recallOrOne(rows, c.d, got, brute(rows, c.n, c.d, c.rho)); r < .95 {
				t.Errorf("%s, %s: recall %.3f", c.name, method, r)
			}
		}
	}
}

// recallOrOne is recall for lists that may be padded or empty.
func recallOrOne(rows []float32, d int, got, want *Neighbours) float64 {
	if want.Rho == 0 || want.N < 2 || want.Rho >= want.N {
		if slices.Equal(got.IDs, want.IDs) {
			return 1
		}
		return 0
	}
	return recall(rows, d, got, want)
}

func TestThousandsOfIdenticalRows(t *testing.T) {
	const n, d, rho = 3000, 32, 5
	rows := hardRows("identical", n, d, 12)
	for _, method := range Methods() {
		got, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		for p := range n {
			ids, distances := got.Row(p)
			if distances[rho-1] != 0 || slices.Contains(ids, int32(p)) || slices.Contains(ids, -1) {
				t.Fatalf("%s: row %d has neighbours %d at %g", method, p, ids, distances)
			}
		}
	}
}

func TestCosine(t *testing.T) {
	rows := []float32{1, 0, 2, .1, 0, 5, -1, 0, 1e-30, 1e-31, 3e30, 0}
	got, err := Build(context.Background(), rows, 6, 2, Options{Rho: 5, Cosine: true})
	if err != nil {
		t.Fatal(err)
	}
	ids, distances := got.Row(0)
	if !slices.Equal(ids, []int32{5, 1, 4, 2, 3}) {
		t.Errorf("neighbours %d at %g", ids, distances)
	}
	if distances[0] != 0 || math.Abs(float64(distances[3])-1) > 1e-6 || math.Abs(float64(distances[4])-2) > 1e-6 {
		t.Errorf("distances %g", distances)
	}
}

func TestACancelledSearchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rows := uniform(2000*4, 13)
	for _, method := range Methods() {
		if _, err := Build(ctx, rows, 2000, 4, Options{Rho: 3, Method: method}); err != context.Canceled {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	rows := clustered(2000, 8, 20, .3, 14)
	for _, method := range Methods() {
		ended := map[string]bool{}
		_, err := Build(
			context.Background(),
			rows,
			2000,
			8,
			Options{Rho: 3, Method: method, Progress: func(stage string, done, total int64) {
				ended[stage] = done == total
			}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(ended) < 2 {
			t.Errorf("%s: stages %v", method, ended)
		}
		for stage, end := range ended {
			if !end {
				t.Errorf("%s: %s did not report its end last", method, stage)
			}
		}
	}
}

func TestProgressRises(t *testing.T) {
	var seen []int64
	o := Options{Workers: 8, Progress: func(_ string, done, total int64) {
		runtime.Gosched() // so that others wait for their turn
		seen = append(seen, done)
	}}
	if err := inParallel(context.Background(), o, "work", 100, func(int, int) { runtime.Gosched() }); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(seen) || seen[len(seen)-1] != 100 {
		t.Errorf("progress %d", seen)
	}
}

func TestSymmetric(t *testing.T) {
	lists := &Neighbours{N: 4, Rho: 2, IDs: []int32{1, 2, 0, 2, 1, 3, 1, -1}, Distances: make([]float32, 8)}
	a := lists.Symmetric()
	want := map[[2]int32]float32{{0, 1}: 1, {0, 2}: .5, {1, 2}: 1, {1, 3}: .5, {2, 3}: .5}
	entries := 0
	for p := range int32(4) {
		columns, weights := a.Row(int(p))
		if !slices.IsSorted(columns) {
			t.Errorf("columns of row %d: %d", p, columns)
		}
		for k, q := range columns {
			entries++
			if w := want[[2]int32{min(p, q), max(p, q)}]; w != weights[k] {
				t.Errorf("w(%d, %d) is %g, not %g", p, q, weights[k], w)
			}
		}
	}
	if entries != 2*len(want) {
		t.Errorf("%d entries, not %d", entries, 2*len(want))
	}
}
