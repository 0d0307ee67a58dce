package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Before later labels show how often answers are right, distances show how far the examples can be trusted. Items of
// a stream that looks as its examples do are about as near to an example as to another item, and nearer than examples
// of two classes are to each other. With medians of squared distances, n of an item to the nearest example, i to the
// nearest other item, j to the nearest one of another moment, and e of an example to the nearest one of another
// class, the trust is trustAtOne (i/n)^1.5 (j/n) (e/n)^2. Where i is small items are copies of each other, as those
// of one track are, and their answers wrong together; how near the copies are no longer matters below leastNear.
const (
	trustAtOne = .5 // see bench/NOTES.md
	leastTrust = .02
	leastNear  = .35 // of i/n
	leastApart = .5  // of j/n
	mostApart  = 1.35
	trustKept  = .7 // of the logarithm, from one comparison to the next

	comparedItems    = 128 // at most, chosen evenly
	comparedExamples = 1024
)

// distances are the medians that trust follows from.
type distances struct{ toExample, toItem, toMoment, between float32 }

// trusted returns how far the stream's examples can be trusted for its items; false: there is too little to compare.
func (e *episode) trusted(r *solver.Result) (trust float64, ok bool) {
	p, d := e.problem, e.problem.D
	var itemRows, exampleRows [][]float32
	var times []int
	var of []int32
	outside, classes := r.Examples()
	for i, c := range classes {
		if c != p.nobody() {
			exampleRows, of = append(exampleRows, outside[i*d:i*d+d]), append(of, c)
		}
	}
	for i, c := range p.labels {
		switch row := r.Z[i*d : i*d+d]; c {
		case -1:
			time := i
			if i >= p.N-p.Earlier {
				time -= p.N
			}
			itemRows, times = append(itemRows, row), append(times, time)
		case p.nobody():
		default:
			exampleRows, of = append(exampleRows, row), append(of, c)
		}
	}
	items, times := slices.Concat(evenly(itemRows, comparedItems)...), evenly(times, comparedItems)
	examples, of := slices.Concat(evenly(exampleRows, comparedExamples)...), evenly(of, comparedExamples)
	if m := p.Embedding; m != nil && m.Metric != nil {
		about := new(metric.Map)
		m.Metric.About(r.Mean, about)
		about.Apply(items, nil)
		about.Apply(examples, nil)
	}
	medians, ok := compare(items, examples, times, of, d)
	return medians.trust(), ok
}

func (m *distances) trust() float64 {
	n := float64(max(copied, m.toExample))
	near, between := max(leastNear, float64(m.toItem)/n), float64(m.between)/n
	apart := min(mostApart, max(leastApart, float64(m.toMoment)/n))
	return min(1, max(leastTrust, trustAtOne*math.Pow(near, 1.5)*apart*between*between))
}

// evenly returns at most so many of a list, chosen evenly.
func evenly[T any](list []T, most int) []T {
	n := len(list)
	if n <= most {
		return list
	}
	chosen := make([]T, most)
	for i := range chosen {
		chosen[i] = list[i*n/most]
	}
	return chosen
}

const copied = 1e-6 // items nearer than this are one: a copy of an item is no other one

// compare compares items, which have times, with each other and with examples, which have classes.
func compare(items, examples []float32, times []int, classes []int32, d int) (m distances, ok bool) {
	of := evenly(classes, comparedItems)
	queries := slices.Concat(evenly(slices.Collect(slices.Chunk(examples, d)), comparedItems)...)
	other := func(i, j int, square float32) bool { return i != j && square > copied }
	var found [4]bool
	m.toExample, found[0] = nearest(items, examples, d, func(_, _ int, _ float32) bool { return true })
	m.between, found[1] = nearest(queries, examples, d, func(i, j int, _ float32) bool { return of[i] != classes[j] })
	m.toItem, found[2] = nearest(items, items, d, other)
	m.toMoment, found[3] = nearest(items, items, d, func(i, j int, square float32) bool {
		apart := times[i] - times[j]
		return max(apart, -apart) >= lagUnit && other(i, j, square)
	})
	if !found[3] { // all are of one moment
		m.toMoment = m.toItem
	}
	return m, found[0] && found[1] && found[2]
}

// nearest is the median of the squared distances of rows of a to the nearest one of b that counts; false: none does.
func nearest(a, b []float32, d int, counts func(i, j int, square float32) bool) (median float32, ok bool) {
	n := len(b) / d
	products, squares := make([]float32, len(a)/d*n), []float32(nil)
	kernel.Products(products, a, b, len(a)/d, n, d)
	for i := range len(a) / d {
		least := float32(math.Inf(1))
		for j, product := range products[i*n : i*n+n] {
			if square := max(0, 2-2*product); square < least && counts(i, j, square) {
				least = square
			}
		}
		if !math.IsInf(float64(least), 1) {
			squares = append(squares, least)
		}
	}
	if len(squares) == 0 {
		return 0, false
	}
	return vector.Median(squares), true
}
