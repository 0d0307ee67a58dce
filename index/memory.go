package index

import (
	"fmt"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Memory is a set of vectors that grows and shrinks one at a time and can be searched at any moment. Any
// number of goroutines may search while one adds and removes. A search compares every vector: its answers are
// exact, and the same vectors give the same answers.
type Memory struct {
	dimension int
	cosine    bool

	mutex sync.RWMutex
	slots map[uint64]int32
	ids   []uint64  // of each slot
	rows  []float32 // of each slot; of length 1 under cosine
	norms []float32 // |x|^2 of each slot

	scratch sync.Pool // of *memorySearch
}

// Hit is a vector found, with its distance from the query.
type Hit struct {
	ID       uint64
	Distance float32
}

// NewMemory returns an empty Memory for vectors of a dimension, with cosine or Euclidean distance.
func NewMemory(dimension int, cosine bool) (*Memory, error) {
	if dimension < 1 {
		return nil, fmt.Errorf("dimension: %d", dimension)
	}
	m := &Memory{dimension: dimension, cosine: cosine, slots: map[uint64]int32{}}
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
