package taught

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// nearest returns, for each of the queries, the n examples of the set that are nearest to it, exactly: a
// process that replays an episode must find the same ones. It compares every example, in the memory in
// which it was received or by its code: an index of 100,000 labels would hold them a second time, and change with every
// lesson. Examples of another dimension or without a direction are near to nothing. Their
// distance is the cosine below zero; of two examples alike the first id is nearer.
func (s *Set) nearest(queries [][]float32, n int) [][]vector.Near[*Entry] {
	const block = 64
	d := len(queries[0])
	asked, rows := vector.New(len(queries), d), vector.New(block, d)
	var coded []query // none: there are so many that to read a vector costs less than its products
	for i, query := range queries {
		vector.Unit(asked.Row(i), query)
		if len(queries) <= codedMost {
			coded = append(coded, ask(asked.Row(i)))
		}
	}
	out := make([][]vector.Near[*Entry], len(queries))
	offer := func(i int, e *Entry, product float32) {
		out[i] = vector.Nearest(out[i], vector.Near[*Entry]{Node: e, Distance: -product * e.inverse}, n)
	}
	products := make([]float32, len(queries)*block)
	batch := make([]*Entry, 0, block)
	compare := func() {
		kernel.Products(products, asked.Values, rows.Values, len(queries), len(batch), d)
		for i := range out {
			for j, product := range products[i*len(batch) : (i+1)*len(batch)] {
				offer(i, batch[j], product)
			}
		}
		batch = batch[:0]
	}
	for e := range s.All() {
		switch {
		case len(e.Vector) != d || e.inverse == 0 || e.allFarther(coded, out, n):
		case len(queries) == 1: // no need to copy the example beside others
			offer(0, e, kernel.Dot(asked.Values, e.Vector))
		default:
			copy(rows.Row(len(batch)), e.Vector)
			if batch = append(batch, e); len(batch) == block {
				compare()
			}
		}
	}
	compare()
	return out
}

// near returns the examples of the set that an episode gets if it cannot get all: of the classes that are
// nearest to its rows, or without rows of every class, at most about most. Classes that have more each
// give an equal share: those found near, and others by their ids, evenly.
func (s *Set) near(queries [][]float32, most int) (list []*Entry) {
	hits := map[*Entry]bool{}
	classes := map[string]bool{}
	if len(queries) == 0 {
		for e := range s.All() {
			classes[e.Label] = true
		}
	} else {
		for _, each := range s.nearest(queries, NearEach) {
			for _, hit := range each {
				hits[hit.Node], classes[hit.Node.Label] = true, true
			}
		}
	}
	share := max(1, most/max(1, len(classes)))
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		all := slices.Collect(s.of(class))
		step := (len(all) + share - 1) / share
		for i, e := range all {
			if i%step == 0 || hits[e] {
				list = append(list, e)
			}
		}
	}
	return list
}

// NearEach is the number of nearest examples of each row whose classes take part in an episode that
// cannot hold all.
const NearEach = 16
