package index

import (
	"context"
	"runtime"
	"slices"
)

// Build makes a graph of all vectors of m, if there are enough for one and the current graph is not
// complete, and returns when it is in use. Searches and changes may continue meanwhile. After Build,
// searches depend on nothing but the vectors in the order in which they were added, the seed, and the query,
// until a new graph is due.
func (m *Memory) Build(ctx context.Context) error {
	m.mutex.Lock()
	for m.building {
		m.built.Wait()
	}
	if len(m.slots) <= m.above || m.graph != nil && m.linked == len(m.slots) && m.linked == len(m.ids) {
		m.mutex.Unlock()
		return nil
	}
	m.building = true
	m.mutex.Unlock()
	return m.build(ctx)
}

// due reports whether a graph must be made; if so, the caller must make it.
func (m *Memory) due() bool {
	wanted := func() bool {
		if m.building || len(m.slots) <= m.above {
			return false
		}
		if m.graph == nil { // the last one did not find enough: try again when there are many more
			return m.tried == 0 || len(m.slots) > 2*m.tried
		}
		fresh := len(m.ids) - m.linked
		return fresh*newShare > m.linked || (len(m.ids)-len(m.slots))*goneShare > len(m.ids)
	}
	m.mutex.RLock()
	yes := wanted()
	m.mutex.RUnlock()
	if !yes {
		return false
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !wanted() { // another goroutine makes it
		return false
	}
	m.building = true
	return true
}

// build makes a graph of the current vectors and puts it into use. It is called with m.building set.
func (m *Memory) build(ctx context.Context) error {
	m.mutex.RLock()
	n := len(m.ids)
	gone := slices.Clone(m.gone)
	rows := m.rows[:n*m.dimension] // they do not change while a graph is made
	m.mutex.RUnlock()
	if gone != nil {
		rows = keptRows(rows, gone, m.dimension)
	}
	graph, err := testedGraph(ctx, rows, m.dimension, Options{Seed: m.seed, Workers: runtime.GOMAXPROCS(0)})
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.building, m.tried = false, len(m.slots)
	m.built.Broadcast()
	if err != nil && m.graph != nil {
		return err // keep the graph in use
	}
	if m.graph, m.linked = graph, 0; graph != nil {
		graph.row = m.row
		m.linked = len(rows) / m.dimension
	}
	m.closeRanks(func(slot int) bool {
		if graph != nil && slot < n {
			return gone != nil && gone[slot] // those removed since then are in the graph
		}
		return m.gone != nil && m.gone[slot]
	})
	return err
}

// keptRows copies the rows that are not gone.
func keptRows(rows []float32, gone []bool, d int) []float32 {
	var kept []float32
	for slot, is := range gone {
		if !is {
			kept = append(kept, rows[slot*d:(slot+1)*d]...)
		}
	}
	return kept
}

// closeRanks drops slots and moves the others up.
func (m *Memory) closeRanks(dropped func(slot int) bool) {
	kept, marked := 0, false
	for slot, id := range m.ids {
		if dropped(slot) {
			continue
		}
		is := m.gone != nil && m.gone[slot]
		if kept != slot {
			m.ids[kept] = id
			copy(m.row(int32(kept)), m.row(int32(slot)))
			m.norms[kept] = m.norms[slot]
		}
		if is {
			marked = true
		} else {
			m.slots[id] = int32(kept)
		}
		if m.gone != nil {
			m.gone[kept] = is
		}
		kept++
	}
	m.ids, m.rows, m.norms = m.ids[:kept], m.rows[:kept*m.dimension], m.norms[:kept]
	if m.gone = m.gone[:min(kept, len(m.gone))]; !marked {
		m.gone = nil
	}
}
