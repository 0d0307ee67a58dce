package stream

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
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

	unlikeBelow = .25 // items with less trust look unlike the examples

	comparedItems    = 128 // at most, chosen evenly
	comparedExamples = 1024
)

// distances are the medians that trust follows from.
type distances struct{ toExample, toItem, toMoment, between float32 }

// comparison is the workspace of trusted.
type comparison struct {
	unlabelled, times, given           []int   // rows that are compared; given ones are examples, then items
	classes                            []int32 // of given
	items, examples, queries, products []float32
	about                              metric.Map
}

// trusted returns how far the stream's examples can be trusted for its items; false: there is too little to compare.
func (e *episode) trusted() (trust float64, ok bool) {
	p, x, d, w := e.problem, e.space, e.stream.dimension, &e.engine.comparison
	w.unlabelled, w.times, w.given, w.classes = w.unlabelled[:0], w.times[:0], w.given[:0], w.classes[:0]
	outside, nobody := x.Examples(), p.nobody()
	for i, c := range outside {
		if c >= 0 && c != nobody {
			w.given, w.classes = append(w.given, i), append(w.classes, c)
		}
	}
	for i, c := range p.labels {
		switch {
		case c < 0:
			time := i
			if n := len(p.labels); i >= n-p.Earlier {
				time -= n
			}
			w.unlabelled, w.times = append(w.unlabelled, i), append(w.times, time)
		case c != nobody:
			w.given, w.classes = append(w.given, len(outside)+i), append(w.classes, c)
		}
	}
	w.items, w.examples = w.items[:0], w.examples[:0]
	for _, i := range evenly(w.unlabelled, comparedItems) {
		w.items = append(w.items, x.Z()[i*d:i*d+d]...)
	}
	for _, i := range evenly(w.given, comparedExamples) {
		if i < len(outside) {
			w.examples = x.Example(w.examples, i)
		} else {
			i -= len(outside)
			w.examples = append(w.examples, x.Z()[i*d:i*d+d]...)
		}
	}
	if m := p.Embedding; m != nil && m.Metric != nil {
		m.Metric.About(x.Mean(), &w.about)
		w.about.Apply(w.items, nil)
		w.about.Apply(w.examples, nil)
	}
	medians, ok := w.compare(evenly(w.times, comparedItems), evenly(w.classes, comparedExamples), d)
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
func (w *comparison) compare(times []int, classes []int32, d int) (m distances, ok bool) {
	of := evenly(classes, comparedItems)
	w.queries = w.queries[:0]
	for i := range of {
		at := i * len(classes) / len(of)
		w.queries = append(w.queries, w.examples[at*d:at*d+d]...)
	}
	other := func(i, j int, square float32) bool { return i != j && square > copied }
	var found [4]bool
	m.toExample, found[0] = w.nearest(w.items, w.examples, d, func(_, _ int, _ float32) bool { return true })
	m.between, found[1] = w.nearest(w.queries, w.examples, d, func(i, j int, _ float32) bool { return of[i] != classes[j] })
	m.toItem, found[2] = w.nearest(w.items, w.items, d, other)
	m.toMoment, found[3] = w.nearest(w.items, w.items, d, func(i, j int, square float32) bool {
		apart := times[i] - times[j]
		return max(apart, -apart) >= lagUnit && other(i, j, square)
	})
	if !found[3] { // all are of one moment
		m.toMoment = m.toItem
	}
	return m, found[0] && found[1] && found[2]
}

// nearest is the median of the squared distances of rows of a to the nearest one of b that counts; false: none does.
func (w *comparison) nearest(a, b []float32, d int, counts func(i, j int, square float32) bool) (median float32, ok bool) {
	n, squares := len(b)/d, []float32(nil)
	w.products = vector.Resize(w.products, len(a)/d*n)
	kernel.Products(w.products, a, b, len(a)/d, n, d)
	for i := range len(a) / d {
		least := float32(math.Inf(1))
		for j, product := range w.products[i*n : i*n+n] {
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
