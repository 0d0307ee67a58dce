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
	sums   []uint64       // of each earlier row in z-space: equal rows have equal sums
	least  []float32      // squared distance to the nearest labelled row in u-space
	plain  []nearestClass // the two nearest classes of each row
	toward []float32      // rows x K: sums of products with the labelled rows of each class
	lists  nearLists      // the nearest labelled rows, counted from 0
}

// nearestClass is the squared distance in z-space to the nearest row of a class of the problem; -1: none.
type nearestClass struct {
	class  int32
	square float32
}

func (m *remembered) reset(n, k, rho int) {
	m.toward = vector.Resize(m.toward, n*k)
	m.sums, m.least = vector.Resize(m.sums, n), vector.Resize(m.least, n)
	m.plain = vector.Resize(m.plain, 2*n)
	m.lists.reset(n, rho)
}

// forget empties m.
func (m *remembered) forget() { m.sums = m.sums[:0] }

// bytes returns the memory that m holds.
func (m *remembered) bytes() int {
	return 8*(cap(m.sums)+cap(m.plain)) + 4*(cap(m.least)+cap(m.toward)+cap(m.lists.IDs)+cap(m.lists.squares))
}

// copy makes m a copy of other.
func (m *remembered) copy(other *remembered) {
	n := len(other.sums)
	m.reset(n, len(other.toward)/max(1, n), other.lists.Rho)
	copy(m.sums, other.sums)
	copy(m.least, other.least)
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
		b.nearest[i] = before.least[at]
		for _, x := range before.plain[2*at : 2*at+2] {
			if x.class >= 0 {
				b.plain[i*k+int(x.class)] = x.square
			}
		}
		copy(b.toward[i*k:(i+1)*k], before.toward[at*k:])
		copy(next.lists.IDs[row*rho:(row+1)*rho], before.lists.IDs[at*rho:])
		copy(next.lists.squares[row*rho:(row+1)*rho], before.lists.squares[at*rho:])
	}
}

// remember keeps the distances of the earlier items, and adds their nearest labelled rows to their lists.
func (e *episode) remember() {
	b, k, next := &e.beside, e.beside.prepared.k, &e.beside.next
	copy(next.toward, b.toward[b.now*k:])
	for row := range next.sums {
		i := b.now + row
		next.least[row] = b.nearest[i]
		twoNearest(next.plain[2*row:2*row+2], b.plain[i*k:(i+1)*k])
		from, to := row*next.lists.Rho, (row+1)*next.lists.Rho
		for r, q := range next.lists.IDs[from:to] {
			if q >= 0 {
				b.near.insert(i, int32(e.n)+q, next.lists.squares[from+r])
			}
		}
	}
	b.prepared.remembered.copy(next)
}

// twoNearest fills two with the nearest classes of an item.
func twoNearest(two []nearestClass, squares []float32) {
	two[0] = nearestClass{-1, float32(math.Inf(1))}
	two[1] = two[0]
	for c, square := range squares {
		switch x := (nearestClass{int32(c), square}); {
		case square < two[0].square:
			two[0], two[1] = x, two[0]
		case square < two[1].square:
			two[1] = x
		}
	}
}
