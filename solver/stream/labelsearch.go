package stream

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/index"
)

// exampleSearch finds the examples of a set that are nearest to an item, exactly: a process that replays an
// episode, with indexes built at other moments, must find the same ones. It is immutable; the next set's is
// made from it.
//
// Examples are divided into segments, each with its own indexes. New examples make a small segment, which
// absorbs those that are no larger, so that an example is indexed about log2(n) times for n examples.
type exampleSearch struct {
	segments []*exampleSegment // the largest first
	stale    map[*exampleSegment]int
}

// exampleSegment is a part of the examples, in the order of their ids.
type exampleSegment struct {
	examples []*labelled
	memories map[int]*index.Memory // by dimension; ids are indexes in examples
}

// newExampleSegment indexes examples of the set s. Rows without a direction are left out: nothing
// is near them.
func newExampleSegment(s *exampleSet, examples []*labelled) *exampleSegment {
	g := &exampleSegment{examples: examples, memories: map[int]*index.Memory{}}
	for i, e := range examples {
		m := g.memories[len(e.Vector)]
		if m == nil {
			var err error
			if m, err = index.NewMemory(len(e.Vector), true); err != nil {
				continue // no stream can use an example without a vector
			}
			g.memories[len(e.Vector)] = m
		}
		_ = m.Add(uint64(i), e.Vector)
	}
	s.indexed += len(examples)
	return g
}

// live lists the segment's examples that s still has.
func (g *exampleSegment) live(s *exampleSet) (list []*labelled) {
	for _, e := range g.examples {
		if s.find(e.ID) == e {
			list = append(list, e)
		}
	}
	return list
}

// A segment is indexed again once more of its examples are out of date than this fraction of it, and more
// than this number.
const (
	staleMost  = 1. / 16
	staleFloor = 64
)

// follow returns the search of s, made from that of the set before. fresh are the examples of s that x does
// not have, gone those of x that are no longer in s.
func (x *exampleSearch) follow(s *exampleSet, fresh, gone []*labelled) *exampleSearch {
	next := &exampleSearch{stale: map[*exampleSegment]int{}}
	left := map[*exampleSegment]int{}
	for _, e := range gone {
		left[x.home(e)]++
	}
	for _, g := range x.segments {
		n := x.stale[g] + left[g]
		if float64(n) > max(staleMost*float64(len(g.examples)), staleFloor) {
			fresh = append(fresh, g.live(s)...)
			continue
		}
		next.segments, next.stale[g] = append(next.segments, g), n
	}
	for len(fresh) > 0 && len(next.segments) > 0 {
		last := next.segments[len(next.segments)-1]
		if len(last.examples) > len(fresh) {
			break
		}
		fresh = append(fresh, last.live(s)...)
		next.segments = next.segments[:len(next.segments)-1]
		delete(next.stale, last)
	}
	if len(fresh) > 0 {
		next.add(s, fresh)
	}
	return next
}

// home returns the segment that has an example; nil: none.
func (x *exampleSearch) home(e *labelled) *exampleSegment {
	for _, g := range x.segments {
		i, ok := slices.BinarySearchFunc(g.examples, e.ID, (*labelled).compareID)
		if ok && g.examples[i] == e {
			return g
		}
	}
	return nil
}

// add makes a segment of these examples.
func (x *exampleSearch) add(s *exampleSet, examples []*labelled) {
	slices.SortFunc(examples, func(a, b *labelled) int { return a.compareID(b.ID) })
	x.segments = append(x.segments, newExampleSegment(s, examples))
	slices.SortStableFunc(x.segments, func(a, b *exampleSegment) int {
		return cmp.Compare(len(b.examples), len(a.examples))
	})
}

// found is an example near an item.
type found struct {
	example  *labelled
	distance float32
}

// nearest returns, for each of the queries, the n examples of s nearest to it, ties by id.
func (x *exampleSearch) nearest(s *exampleSet, queries [][]float32, n int) ([][]found, error) {
	out := make([][]found, len(queries))
	for _, g := range x.segments {
		m := g.memories[len(queries[0])]
		if m == nil {
			continue
		}
		stale := x.stale[g]
		k := n + min(stale, n) // some of those found may be gone
		each, err := m.SearchEach(queries, k)
		if err != nil {
			return nil, err
		}
		for i, hits := range each {
			list, k := g.present(s, hits, n), k
			for len(list) < n && k < n+stale && k < m.Len() {
				k = min(2*k, n+stale)
				if hits, err = m.Search(nil, queries[i], k); err != nil {
					return nil, err
				}
				list = g.present(s, hits, n)
			}
			out[i] = append(out[i], list...)
		}
	}
	for i, list := range out {
		slices.SortFunc(list, func(a, b found) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), a.example.compareID(b.example.ID))
		})
		out[i] = list[:min(n, len(list))]
	}
	return out, nil
}

// present returns the first n of the segment's hits that s has.
func (g *exampleSegment) present(s *exampleSet, hits []index.Hit, n int) (list []found) {
	for _, h := range hits {
		if e := g.examples[h.ID]; len(list) < n && s.find(e.ID) == e {
			list = append(list, found{e, h.Distance})
		}
	}
	return list
}
