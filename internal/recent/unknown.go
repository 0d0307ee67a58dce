package recent

import (
	"cmp"
	"slices"
)

// Stranger is a recent item that was answered unknown and has not been named since.
type Stranger struct {
	Found
	Group int // number of its group of similar strangers; Unknown leaves it 0
}

// Unknown lists the latest strangers, at most so many, by event time.
func (s *Store) Unknown(most int) (out []Stranger) {
	type at struct {
		block *Block
		i     int
	}
	var list []at
	for b, i := range s.each() {
		if it := &b.items[i]; b.dimension > 0 && it.unknown && !it.taught && b.names[it.cause] == "" {
			list = append(list, at{b, i})
		}
	}
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	slices.SortFunc(list, func(a, b at) int {
		x, y := &a.block.items[a.i], &b.block.items[b.i]
		return cmp.Or(cmp.Compare(x.seconds, y.seconds), cmp.Compare(x.nanoseconds, y.nanoseconds),
			cmp.Compare(a.block.text(a.i, ofID), b.block.text(b.i, ofID)))
	})
	for _, a := range list[max(0, len(list)-most):] {
		out = append(out, Stranger{Found: Found{a.block.item(a.i), a.block.unit(a.i)}})
	}
	return out
}
