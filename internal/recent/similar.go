package recent

import (
	"cmp"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Query selects the recent items that are most like a vector.
type Query struct {
	Vector []float32
	Model  string // of the vector: items of other models are left out; "": any model of its dimension
	Except string // result id of an item to leave out; "": none
	Count  int
	Since  time.Time // earlier items are left out; zero: none
}

// Match is a recent item and its distance from the query's vector.
type Match struct {
	Item
	Distance float64 // squared, between unit vectors: 0 to 4
}

// Similar returns the nearest items of all partitions, the nearest first.
func (s *Store) Similar(q Query) []Match {
	vector, ok := unit(q.Vector)
	if !ok || q.Count < 1 {
		return nil
	}
	type found struct {
		block    *Block
		at       int
		distance float64
	}
	var best []found // the nearest first
	row := make([]float32, len(vector))
	for _, b := range s.all() {
		if b.dimension != len(vector) || q.Model != "" && b.text(0, ofModel) != q.Model {
			continue
		}
		for i := range b.lengths {
			// No lock: only what never changes is read here.
			if b.items[i].time().Before(q.Since) || b.text(i, ofID) == q.Except {
				continue
			}
			b.decode(row, i)
			f := found{b, i, 2 - 2*float64(kernel.Dot(vector, row))}
			if len(best) == q.Count && f.distance >= best[len(best)-1].distance {
				continue
			}
			nearest := func(a, b found) int { return cmp.Compare(a.distance, b.distance) }
			at, _ := slices.BinarySearchFunc(best, f, nearest)
			best = slices.Insert(best, at, f)
			best = best[:min(len(best), q.Count)]
		}
	}
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	out := make([]Match, len(best))
	for i, f := range best {
		out[i] = Match{f.block.item(f.at), max(0, f.distance)}
	}
	return out
}
