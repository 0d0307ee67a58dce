package web

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
)

// Points of a plane within many dimensions keep their distances on the map.
func TestProjectionKeepsAPlane(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const n, d = 30, 50
	axes := [2][]float64{make([]float64, d), make([]float64, d)}
	axes[0][3], axes[1][7] = 3, 1
	var plane [n][2]float64
	items := make([]item, n)
	for i := range items {
		plane[i] = [2]float64{3 * random.NormFloat64(), random.NormFloat64()}
		items[i].Vector = make([]float32, d)
		items[i].Vector[3], items[i].Vector[7] = float32(plane[i][0]), float32(plane[i][1])
		items[i].Vector[20] = 5 // an offset does not matter
	}
	points := project(items)
	scale := 0.
	for i := 1; i < n; i++ {
		truth := math.Hypot(plane[i][0]-plane[0][0], plane[i][1]-plane[0][1])
		got := cmplx.Abs(points[i] - points[0])
		if scale == 0 {
			scale = got / truth
		}
		if math.Abs(got/truth-scale) > 1e-3*scale {
			t.Fatalf("point %d is %g away, not %g", i, got, truth*scale)
		}
	}
}

func TestProjectionOfLittle(t *testing.T) {
	one, short := item{Vector: []float32{1, 2}}, item{Vector: []float32{1}}
	for _, items := range [][]item{nil, {one}, {one, one}, {one, short}} {
		for _, p := range project(items) {
			if p != 0 {
				t.Errorf("%v: %v", items, p)
			}
		}
	}
}

// Labels stay where they were, whatever the directions of the axes.
func TestPlacementStays(t *testing.T) {
	centres := map[string]complex128{"a": .8 + .1i, "b": -.5 + .6i, "c": -.2 - .7i}
	items, first := []item{}, []complex128{}
	for label, at := range centres {
		items = append(items, item{Result: record.Result{Label: label}})
		first = append(first, at)
	}
	var p placement
	p.align(slices.Clone(first), items)
	for _, mirror := range []bool{false, true} {
		turned := slices.Clone(first)
		for i := range turned {
			if mirror {
				turned[i] = cmplx.Conj(turned[i])
			}
			turned[i] *= cmplx.Rect(1, 2.2)
		}
		p.align(turned, items)
		for i := range first {
			if cmplx.Abs(turned[i]-first[i]) > 1e-5 {
				t.Errorf("mirror %t: %v moved to %v", mirror, first[i], turned[i])
			}
		}
	}
}

func TestCurveSpansTheRun(t *testing.T) {
	var c curve
	for i := range int64(100000) {
		c.add(demo.Pair{{Name: "warm start", Right: i, All: i + 1}})
	}
	if n := len(c.points); n > keptPoints || n < keptPoints/4 || c.points[0].After != 1 ||
		c.points[n-1].After < 99000 {
		t.Errorf("%d points from %d to %d", n, c.points[0].After, c.points[n-1].After)
	}
}

// The page divides by the number of items between the first point and the last.
func TestCurveHasOnePointForEachCount(t *testing.T) {
	var c curve
	for _, all := range []int64{4, 4, 5, 5} {
		c.add(demo.Pair{{Name: "warm start", Right: 4, All: all}})
	}
	if n := len(c.points); n != 2 || c.points[0].After != 4 || c.points[1].After != 5 {
		t.Errorf("points %+v", c.points)
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := shown{items: map[string]*item{}}
	vector := make([]float32, 1<<16) // shared, as only its size counts
	for i := range 1000 {
		for range 2 { // a repeat replaces the first
			r.add(&item{Vector: vector, Result: record.Result{ID: record.Source{
				Topic: "t", Offset: int64(i),
				Object: -1,
			}.ID()}})
		}
	}
	if n := len(r.items); n != len(r.order) || n < 150 || r.bytes > keptBytes || r.items["t/0/999"] == nil ||
		r.items["t/0/0"] != nil {
		t.Errorf("%d items of %d bytes", n, r.bytes)
	}
	oldest := r.items[r.order[0]] // shown again, it is the last to go
	r.add(oldest)
	for range 3 {
		r.add(&item{Vector: vector, Result: record.Result{ID: "new"}})
	}
	if r.items[oldest.Result.ID] == nil || r.items["new"] == nil || len(r.items) != len(r.order) {
		t.Errorf("an item that was shown again is gone")
	}
}
