package stream

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/index"
)

// exampleSearch finds the examples of a set that are nearest to an item, exactly: a repeat of an episode, by
// a process that made its indexes at other moments, must find the same ones. It is never changed; the next
// set's is made from it.
//
// Examples lie in segments, each with indexes of its own. A new one makes a small segment, which takes in
// those that are no larger, so that an example is indexed again about as often as the number of examples can
// be halved, however many there are.
type exampleSearch struct {
	segments []*exampleSegment // the largest first
	stale    map[*exampleSegment]int
}

// exampleSegment is a part of the examples, in the order of their ids.
type exampleSegment struct {
	examples []Example
	sums     []uint64
	memories map[int]*index.Memory // of each dimension; ids are places in examples
}

// newExampleSegment indexes those of the set's examples. Rows that have no direction are left out: nothing is
// near them.
func newExampleSegment(s *exampleSet, places []int32) *exampleSegment {
	g := &exampleSegment{memories: map[int]*index.Memory{}}
	for i, place := range places {
		e := s.examples[place]
		g.examples, g.sums = append(g.examples, e), append(g.sums, s.sums[place])
		m := g.memories[len(e.Vector)]
		if m == nil {
			var err error
			if m, err = index.NewMemory(len(e.Vector), index.MemoryOptions{Cosine: true, Above: -1}); err != nil {
				continue // an example without a vector is of no use to any stream
			}
			g.memories[len(e.Vector)] = m
		}
		_ = m.Add(uint64(i), e.Vector)
	}
	s.indexed += len(places)
	return g
}

// live are the places in s of the segment's examples that s still has.
func (g *exampleSegment) live(s *exampleSet) []int32 {
	var list []int32
	for i := range g.examples {
		if place, ok := s.holds(g, i); ok {
			list = append(list, place)
		}
	}
	return list
}

// holds says where s has the i-th example of the segment, if it has it unchanged.
func (s *exampleSet) holds(g *exampleSegment, i int) (int32, bool) {
	place, ok := s.place(g.examples[i].ID)
	return int32(place), ok && s.sums[place] == g.sums[i]
}

// staleMost is the share of a segment that may be gone, and how many always may, before the rest is indexed
// again.
const (
	staleMost  = 1. / 16
	staleFloor = 64
)

// follow makes the search of s from that of the set before. fresh are the places of the examples that it does
// not have, gone how many of each segment's are not in s any more.
func (x *exampleSearch) follow(s *exampleSet, fresh []int32, gone map[*exampleSegment]int) *exampleSearch {
	next := &exampleSearch{stale: map[*exampleSegment]int{}}
	for _, g := range x.segments {
		n := x.stale[g] + gone[g]
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

// add makes a segment of the examples at these places.
func (x *exampleSearch) add(s *exampleSet, places []int32) {
	slices.Sort(places)
	g := newExampleSegment(s, places)
	for _, place := range places {
		s.home[place] = g
	}
	x.segments = append(x.segments, g)
	slices.SortStableFunc(x.segments, func(a, b *exampleSegment) int {
		return cmp.Compare(len(b.examples), len(a.examples))
	})
}

// found is an example near an item.
type found struct {
	place    int32
	distance float32
}

// nearest returns, for each of the queries, the n examples of s nearest to it, ties by id, which is by place.
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
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.place, b.place))
		})
		out[i] = list[:min(n, len(list))]
	}
	return out, nil
}

// present are the first n of the hits in the segment that s has.
func (g *exampleSegment) present(s *exampleSet, hits []index.Hit, n int) (list []found) {
	for _, h := range hits {
		if place, ok := s.holds(g, int(h.ID)); ok && len(list) < n {
			list = append(list, found{place, h.Distance})
		}
	}
	return list
}
