package index

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// decaying draws clustered rows whose first columns vary most, without a rotation: the case that
// sketches are for.
func decaying(n, d int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 3))
	x := clustered(n, d, 1+n/60, .5, seed)
	for i := range x {
		x[i] *= float32(math.Pow(.98, float64(i%d)) * (1 + 1e-3*random.Float64()))
	}
	return x
}

func TestSketchedSearchFindsNearlyAll(t *testing.T) {
	const n, d, rho = 2500, sketchFrom + 4, 6
	rows := decaying(n, d, 1)
	var w Workspace
	if err := w.points.take(rows, n, d, false); err != nil {
		t.Fatal(err)
	}
	var s points
	if is, err := w.sketch(context.Background(), Options{Workers: 2, Rho: rho}, &s); err != nil || !is {
		t.Fatalf("rows that vary in few directions are not sketched: %v", err)
	}
	want, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	var first *Neighbours
	for _, workers := range []int{1, 3} {
		got, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "descent", Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if r := recall(rows, d, got, want); r < .98 || got.Report.Chosen != "descent" || got.Report.Refined > 0 {
			t.Errorf("recall %.4f, %+v", r, got.Report)
		}
		if first == nil {
			first = got
		} else if !slices.Equal(first.IDs, got.IDs) {
			t.Error("three workers find other neighbours than one")
		}
	}
}

func TestRowsThatVaryEverywhereAreNotSketched(t *testing.T) {
	const n, d = 2000, sketchFrom
	for name, rows := range map[string][]float32{
		// A few balls vary in few directions, but the neighbours within them do not.
		"uniform": uniform(n*d, 2), "a few balls": clustered(n, d, 20, .5, 3),
	} {
		var w Workspace
		if err := w.points.take(rows, n, d, false); err != nil {
			t.Fatal(err)
		}
		if is, err := w.sketch(context.Background(), Options{Workers: 1, Rho: 5}, new(points)); err != nil || is {
			t.Errorf("%s: sketched, %v", name, err)
		}
	}
}
