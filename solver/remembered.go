package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
)

// rememberedFrom is the number of labelled rows from which it costs more to compare an earlier row with them
// again than to remember how far it is from them.
const rememberedFrom = 128

// remembered are the distances of earlier rows from the labelled rows beside an episode, for the next one.
type remembered struct {
	sums   []uint64  // of each earlier row in z-space: equal rows have equal sums
	plain  []float32 // rows x K: squared distance to the nearest labelled row of each class in z-space
	moved  []float32 // rows x K: the same in u-space
	toward []float32 // rows x K: sums of products with the labelled rows of each class
	lists  nearLists // the nearest labelled rows, counted from 0
}

func (m *remembered) reset(n, k, rho int) {
	m.plain, m.toward = vector.Resize(m.plain, n*k), vector.Resize(m.toward, n*k)
	m.sums, m.moved = vector.Resize(m.sums, n), vector.Resize(m.moved, n*k)
	m.lists.reset(n, rho)
}

// forget empties m.
func (m *remembered) forget() { m.sums = m.sums[:0] }

// bytes returns the memory that m holds.
func (m *remembered) bytes() int {
	return 8*cap(m.sums) + 4*(cap(m.moved)+cap(m.plain)+cap(m.toward)+cap(m.lists.IDs)+cap(m.lists.squares))
}

// copy makes m a copy of other.
func (m *remembered) copy(other *remembered) {
	n := len(other.sums)
	m.reset(n, len(other.toward)/max(1, n), other.lists.Rho)
	copy(m.sums, other.sums)
	copy(m.moved, other.moved)
	copy(m.toward, other.toward)
	copy(m.plain, other.plain)
	copy(m.lists.IDs, other.lists.IDs)
	copy(m.lists.squares, other.lists.squares)
}

// remembers says whether the distances of the problem's earlier rows are remembered.
func (e *episode) remembers(p *Problem, lists *nearLists) bool {
	return lists != nil && p.Earlier > 0 && p.Prepared != nil && len(p.Prepared.label) >= rememberedFrom &&
		!slices.ContainsFunc(e.label[e.n-p.Earlier:e.n], func(y int32) bool { return y >= 0 })
}

// recall takes the distances of earlier items that were so in the problem before too, and asks to compare the
// others: of that problem's own items a stream may have dropped some bits since.
func (e *episode) recall() {
	b, d, k, rho := &e.beside, e.d, e.beside.prepared.k, e.beside.near.Rho
	before, next := &b.prepared.remembered, &b.next
	if before.lists.Rho != rho {
		before.forget()
	}
	next.reset(e.n-b.now, k, rho)
	expected := 0 // where the next row is at the earliest, as they keep their order
	for row := range next.sums {
		i := b.now + row
		next.sums[row] = vector.Sum(e.z[i*d : i*d+d])
		at := slices.Index(before.sums[expected:], next.sums[row])
		if at < 0 {
			b.limits[i] = float32(math.Inf(1))
			b.asked = append(b.asked, int32(i))
			continue
		}
		at += expected
		expected = at + 1
		copy(b.moved[i*k:(i+1)*k], before.moved[at*k:])
		copy(b.plain[i*k:(i+1)*k], before.plain[at*k:])
		copy(b.toward[i*k:(i+1)*k], before.toward[at*k:])
		copy(next.lists.IDs[row*rho:(row+1)*rho], before.lists.IDs[at*rho:])
		copy(next.lists.squares[row*rho:(row+1)*rho], before.lists.squares[at*rho:])
	}
}

// remember keeps the distances of the earlier items, and adds their nearest labelled rows to their lists.
func (e *episode) remember() {
	b, k, next := &e.beside, e.beside.prepared.k, &e.beside.next
	copy(next.plain, b.plain[b.now*k:])
	copy(next.moved, b.moved[b.now*k:])
	copy(next.toward, b.toward[b.now*k:])
	for row := range next.sums {
		i := b.now + row
		from, to := row*next.lists.Rho, (row+1)*next.lists.Rho
		for r, q := range next.lists.IDs[from:to] {
			if q >= 0 {
				b.near.insert(i, int32(e.n)+q, next.lists.squares[from+r])
			}
		}
	}
	b.prepared.remembered.copy(next)
}
