package index

import (
	"fmt"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Memory is a set of vectors that grows and shrinks one at a time and can be searched at any moment. Any
// number of goroutines may search while one adds and removes. A search compares every vector: its answers are
// exact, and the same calls give the same answers. Only where there are more vectors than MemoryOptions.Above
// does it ask an HNSW graph for candidates, rank them by their true distances, and compare every vector that
// the graph does not have yet.
type Memory struct {
	dimension int
	cosine    bool
	above     int
	seed      uint64

	mutex sync.RWMutex
	slots map[uint64]int32
	ids   []uint64  // of each slot
	rows  []float32 // of each slot; of length 1 under cosine
	norms []float32 // |x|^2 of each slot

	// While there is a graph, or one is being made, slots do not move: a removed vector is marked as gone, but
	// the graph still leads through it to others.
	graph    *libraryGraph // nil: none
	linked   int           // slots from 0 on that are in the graph
	gone     []bool        // of each slot; nil: none was removed
	building bool
	built    sync.Cond // on mutex: building has become false
	tried    int       // number of vectors at the last attempt to make a graph

	scratch sync.Pool // of *memorySearch
}

// MemoryOptions configure a Memory.
type MemoryOptions struct {
	Cosine bool   // cosine distance instead of Euclidean
	Seed   uint64 // of the graph; the same vectors in the same order and the same seed give the same graph

	// Above is the number of vectors up to which a search compares every one; 0: DefaultAbove of the dimension;
	// negative, or in a build without the HNSW library: any number.
	Above int
}

// graphWorth is the number of values, vectors times dimension, above which a graph is made.
const graphWorth = 12_800_000

// DefaultAbove returns the number of vectors of a dimension above which a Memory makes a graph: 100,000 of
// dimension 128. It is an estimate from single searches on 20,000 and 50,000 rows, not a sweep. A graph that
// does not find enough is not used.
func DefaultAbove(dimension int) int { return graphWorth / max(1, dimension) }

// A graph is made anew when more than one in newShare vectors is not in it, or one in goneShare was removed.
const (
	newShare  = 10
	goneShare = 4
)

// Hit is a vector found, with its distance from the query.
type Hit struct {
	ID       uint64
	Distance float32
}

// NewMemory returns an empty Memory for vectors of a dimension.
func NewMemory(dimension int, o MemoryOptions) (*Memory, error) {
	if dimension < 1 {
		return nil, fmt.Errorf("dimension: %d", dimension)
	}
	if o.Above == 0 {
		o.Above = DefaultAbove(dimension)
	}
	if o.Above < 0 || !hnswBuilt {
		o.Above = maxRows
	}
	m := &Memory{dimension: dimension, cosine: o.Cosine, above: o.Above, seed: o.Seed, slots: map[uint64]int32{}}
	m.built.L = &m.mutex
	m.scratch.New = func() any { return new(memorySearch) }
	return m, nil
}

// Len returns the number of vectors held.
func (m *Memory) Len() int {
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	return len(m.slots)
}

// Add copies a vector into m. It returns an error for an id that is there, a vector of another dimension,
// values that are NaN or infinite or too large to have distances, and a zero vector under cosine.
func (m *Memory) Add(id uint64, vector []float32) error {
	row := make([]float32, m.dimension)
	if err := m.take(row, vector); err != nil {
		return fmt.Errorf("vector %d: %w", id, err)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if _, there := m.slots[id]; there {
		return fmt.Errorf("vector %d: already there", id)
	}
	m.slots[id] = int32(len(m.ids))
	m.ids = append(m.ids, id)
	m.rows = append(m.rows, row...)
	m.norms = append(m.norms, kernel.Dot(row, row))
	if m.gone != nil {
		m.gone = append(m.gone, false)
	}
	return nil
}

// Remove removes a vector and reports whether it was there.
func (m *Memory) Remove(id uint64) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	slot, there := m.slots[id]
	if !there {
		return false
	}
	delete(m.slots, id)
	if m.graph != nil || m.building {
		if m.gone == nil {
			m.gone = make([]bool, len(m.ids))
		}
		m.gone[slot] = true
		if len(m.slots) <= m.above/2 && !m.building {
			m.graph, m.linked, m.tried = nil, 0, 0
			m.closeRanks(func(slot int) bool { return m.gone[slot] })
		}
		return true
	}
	// The last vector moves into the gap.
	last := int32(len(m.ids) - 1)
	if slot != last {
		m.ids[slot] = m.ids[last]
		m.slots[m.ids[slot]] = slot
		copy(m.row(slot), m.row(last))
		m.norms[slot] = m.norms[last]
	}
	m.ids, m.rows, m.norms = m.ids[:last], m.rows[:int(last)*m.dimension], m.norms[:last]
	return true
}

func (m *Memory) row(slot int32) []float32 {
	return m.rows[int(slot)*m.dimension : (int(slot)+1)*m.dimension]
}

// take checks a vector and copies it to row, at length 1 under cosine.
func (m *Memory) take(row, vector []float32) error {
	if len(vector) != m.dimension {
		return fmt.Errorf("dimension %d, not %d", len(vector), m.dimension)
	}
	if m.cosine {
		return unit(row, vector)
	}
	if err := measurable(vector); err != nil {
		return err
	}
	copy(row, vector)
	return nil
}
