package stream

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// nearest returns, for each of the queries, the n examples of the set that are nearest to it, exactly: a
// process that replays an episode must find the same ones. It compares every example, in the memory in
// which it was received: an index of 100,000 labels would hold them a second time, and change with every
// lesson. Examples of another dimension or without a direction are near to nothing. The weight of a link is
// the cosine below zero; of two examples alike the first id is nearer.
func (s *exampleSet) nearest(queries [][]float32, n int) [][]link[*labelled] {
	const block = 64
	d := len(queries[0])
	asked, rows := vector.New(len(queries), d), vector.New(block, d)
	for i, query := range queries {
		vector.Unit(asked.Row(i), query)
	}
	out := make([][]link[*labelled], len(queries))
	offer := func(i int, e *labelled, product float32) {
		out[i] = nearest(out[i], link[*labelled]{e, -product * e.inverse}, n)
	}
	products := make([]float32, len(queries)*block)
	batch := make([]*labelled, 0, block)
	compare := func() {
		kernel.Products(products, asked.Values, rows.Values, len(queries), len(batch), d)
		for i := range out {
			for j, product := range products[i*len(batch) : (i+1)*len(batch)] {
				offer(i, batch[j], product)
			}
		}
		batch = batch[:0]
	}
	for e := range s.all() {
		switch {
		case len(e.Vector) != d || e.inverse == 0:
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
// nearest to its items, or without items of every class, at most about most. Classes that have more each
// give an equal share: those found near, and others by their ids, evenly.
func (s *exampleSet) near(items []Item, most int) (list []*labelled) {
	hits := map[*labelled]bool{}
	classes := map[string]bool{}
	if len(items) == 0 {
		for e := range s.all() {
			classes[e.Label] = true
		}
	} else {
		queries := make([][]float32, len(items))
		for i := range items {
			queries[i] = items[i].Vector
		}
		for _, each := range s.nearest(queries, candidatesEach) {
			for _, hit := range each {
				hits[hit.node], classes[hit.node.Label] = true, true
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

// candidatesEach is the number of nearest examples of each item whose classes take part in an episode that
// cannot hold all.
const candidatesEach = 16
