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
	blocks := s.all()
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	type at struct {
		block *Block
		i     int
	}
	var list []at
	for _, b := range blocks {
		if b.dimension == 0 {
			continue
		}
		for i := range b.items {
			if it := &b.items[i]; it.Unknown && !it.Taught && it.cause == "" {
				list = append(list, at{b, i})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b at) int {
		x, y := &a.block.items[a.i], &b.block.items[b.i]
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID))
	})
	for _, a := range list[max(0, len(list)-most):] {
		out = append(out, Stranger{Found: Found{a.block.items[a.i], a.block.unit(a.i)}})
	}
	return out
}

func (s *Store) byName() (list []*Partition) {
	for _, p := range s.partitions {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Partition) int { return cmp.Compare(a.name, b.name) })
	return list
}
