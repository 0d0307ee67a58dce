package index

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Search appends the k vectors nearest to query to dst, nearest first, ties by id; all of them if m holds
// fewer.
func (m *Memory) Search(dst []Hit, query []float32, k int) ([]Hit, error) {
	s := m.scratch.Get().(*memorySearch)
	defer m.scratch.Put(s)
	if err := s.take(m, [][]float32{query}); err != nil {
		return dst, fmt.Errorf("query: %w", err)
	}
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	s.find(m, k)
	return s.nearest[0].hits(m, dst), nil
}

// SearchEach finds for each of queries what Search would, in less time if they are many: a vector is read
// once and compared with all of them.
func (m *Memory) SearchEach(queries [][]float32, k int) ([][]Hit, error) {
	s := m.scratch.Get().(*memorySearch)
	defer m.scratch.Put(s)
	out := make([][]Hit, 0, len(queries))
	for from := 0; from < len(queries); from += block {
		if err := s.take(m, queries[from:min(from+block, len(queries))]); err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		m.mutex.RLock()
		s.find(m, k)
		for i := range s.queries.N {
			out = append(out, s.nearest[i].hits(m, nil))
		}
		m.mutex.RUnlock()
	}
	return out, nil
}

// memorySearch is the memory of a search.
type memorySearch struct {
	queries vector.Matrix
	nearest []memoryHits // of each query

	products  []float32 // of the queries with a block of vectors
	low       []float32 // of each of these: a lower bound of its norm
	positions []int32
}

// take checks at most block queries and copies them.
func (s *memorySearch) take(m *Memory, queries [][]float32) error {
	s.queries = s.queries.Resized(len(queries), m.dimension)
	for i, query := range queries {
		if err := m.take(s.queries.Row(i), query); err != nil {
			return err
		}
	}
	return nil
}

// find finds the k nearest of each query.
func (s *memorySearch) find(m *Memory, k int) {
	n := s.queries.N
	for len(s.nearest) < n {
		s.nearest = append(s.nearest, memoryHits{})
	}
	for i := range n {
		s.nearest[i].reset(min(k, len(m.slots)))
	}
	if k < 1 {
		return
	}
	for from := 0; from < len(m.ids); from += block {
		s.compare(m, from, min(from+block, len(m.ids)))
	}
}

// fewQueries is the number of queries from which on vectors are compared in tiles of products, fewer
// one by one.
const fewQueries = 4

// compare compares every query with the vectors of some slots, at most block.
func (s *memorySearch) compare(m *Memory, from, to int) {
	n := to - from
	if s.queries.N < fewQueries {
		for slot := from; slot < to; slot++ {
			for i := range s.queries.N {
				s.offer(m, i, int32(slot))
			}
		}
		return
	}
	// As in points: the value of a pair from a tile is off by at most share (|x|^2 + |y|^2) + least, and a
	// distance by a few roundings.
	tile, dot := kernel.Roundings(m.dimension)
	share := float32((tile + 2*dot + 16) * epsilon)
	least := float32(math.Ldexp(float64(m.dimension)+16, -146))
	s.products, s.low, s.positions = vector.Resize(s.products, block*block), vector.Resize(s.low, block), vector.Resize(s.positions, block)
	for i, norm := range m.norms[from:to] {
		if s.low[i] = norm - share*norm - least; !(norm < 1e30) { // too large for the bound
			s.low[i] = -infinity
		}
	}
	kernel.Products(s.products, s.queries.Values, m.rows[from*m.dimension:], s.queries.N, n, m.dimension)
	for i := range s.queries.N {
		query := s.queries.Row(i)
		norm := kernel.Dot(query, query)
		limit := float32(s.nearest[i].reach())*(1+share) - norm + share*norm + least
		if !(norm < 1e30) || !(limit <= math.MaxFloat32) { // too large for products, or fewer than wanted so far
			for slot := from; slot < to; slot++ {
				s.offer(m, i, int32(slot))
			}
			continue
		}
		found := kernel.Below(s.positions, s.low[:n], s.products[i*n:(i+1)*n], limit)
		for _, position := range s.positions[:found] {
			s.offer(m, i, int32(from)+position)
		}
	}
}

// offer compares query i with the vector of a slot.
func (s *memorySearch) offer(m *Memory, i int, slot int32) {
	s.nearest[i].offer(m, slot, squared(s.queries.Row(i), m.row(slot)))
}

// memoryHits are the nearest of one query so far, ties by id.
type memoryHits struct {
	distances []float64 // squared
	slots     []int32
	count     int
}

// reach returns the squared distance up to which a vector is wanted.
func (h *memoryHits) reach() float64 {
	if h.count < len(h.slots) {
		return math.Inf(1)
	}
	return h.distances[h.count-1]
}

// hits appends the nearest to dst.
func (h *memoryHits) hits(m *Memory, dst []Hit) []Hit {
	for i, slot := range h.slots[:h.count] {
		distance := math.Sqrt(h.distances[i])
		if m.cosine {
			distance = h.distances[i] / 2
		}
		dst = append(dst, Hit{m.ids[slot], float32(distance)})
	}
	return dst
}

func (h *memoryHits) reset(length int) {
	length = max(0, length)
	h.distances, h.slots, h.count = vector.Resize(h.distances, length), vector.Resize(h.slots, length), 0
}

func (h *memoryHits) offer(m *Memory, slot int32, distance float64) {
	at := h.count
	if at == len(h.slots) {
		at--
		if distance > h.distances[at] || distance == h.distances[at] && m.ids[slot] > m.ids[h.slots[at]] {
			return
		}
	} else {
		h.count++
	}
	for at > 0 && (h.distances[at-1] > distance || h.distances[at-1] == distance && m.ids[h.slots[at-1]] > m.ids[slot]) {
		h.distances[at], h.slots[at] = h.distances[at-1], h.slots[at-1]
		at--
	}
	h.distances[at], h.slots[at] = distance, slot
}

// squared returns |x-y|^2 with a relative error of a few roundings, whatever the scale.
func squared(x, y []float32) float64 {
	s := kernel.SquaredDistance(x, y)
	if s > 1e-25 && s < 1e37 {
		return float64(s)
	}
	return squaredExactly(x, y)
}
