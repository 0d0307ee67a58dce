package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// found is an example near an item.
type found struct {
	example    *labelled
	similarity float32 // cosine
}

// offer puts an example into the list of at most n, the nearest first, ties by id.
func (f found) offer(list []found, n int) []found {
	at, _ := slices.BinarySearchFunc(list, f, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), a.example.compareID(b.example.ID))
	})
	if at == n {
		return list
	}
	return slices.Insert(list[:min(len(list), n-1)], at, f)
}

// nearest returns, for each of the queries, the n examples of the set that are nearest to it, exactly: a
// process that replays an episode must find the same ones. It compares every example, in the memory in
// which it was received: an index of 100,000 labels would hold them a second time, and change with every
// lesson. Examples of another dimension or without a direction are near to nothing.
func (s *exampleSet) nearest(queries [][]float32, n int) [][]found {
	const block = 64
	d := len(queries[0])
	asked, rows := vector.New(len(queries), d), vector.New(block, d)
	for i, query := range queries {
		vector.Unit(asked.Row(i), query)
	}
	out := make([][]found, len(queries))
	offer := func(i int, e *labelled, product float32) {
		similarity := product * e.inverse
		if len(out[i]) < n || similarity >= out[i][n-1].similarity {
			out[i] = found{e, similarity}.offer(out[i], n)
		}
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
				hits[hit.example], classes[hit.example.Label] = true, true
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
