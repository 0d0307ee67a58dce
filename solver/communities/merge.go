package communities

import (
	"cmp"
	"container/heap"
)

// chance is how much two nodes are tied, B_ij total / (vol_i vol_j), where edges fall by the volumes alone.
const chance = 1

// merge joins the pair of nodes with the largest B_ij / (vol_i vol_j), the first among equals, until k are
// left or no pair is tied by more than least. It returns the cluster of each node, numbered by first node, and
// their number.
func (g *network) merge(k int, least float64) ([]int32, int) {
	n := g.n()
	volume, between := append([]float64(nil), g.volume...), make([]map[int32]float64, n)
	for i := range n {
		between[i] = make(map[int32]float64, g.offsets[i+1]-g.offsets[i])
		for j := g.offsets[i]; j < g.offsets[i+1]; j++ {
			if g.weights[j] > 0 {
				between[i][g.columns[j]] = g.weights[j]
			}
		}
	}
	tied := func(i, j int32) tie {
		i, j = min(i, j), max(i, j)
		return tie{between[i][j] / (volume[i] * volume[j]), i, j}
	}
	var strongest ties
	for i := range int32(n) {
		for j := range between[i] {
			if i < j {
				strongest = append(strongest, tied(i, j))
			}
		}
	}
	heap.Init(&strongest)
	into, count := separate(n), n
	for count > k && len(strongest) > 0 {
		t := heap.Pop(&strongest).(tie)
		a, b := t.a, t.b
		if into[a] != a || into[b] != b || t != tied(a, b) { // outdated: a cluster is gone or has changed
			continue
		}
		if t.worth*g.total <= least {
			break
		}
		into[b] = a
		count--
		volume[a] += volume[b]
		for j, weight := range between[b] {
			delete(between[j], b)
			if j != a {
				between[a][j] += weight
				between[j][a] = between[a][j]
			}
		}
		between[b] = nil
		for j := range between[a] {
			heap.Push(&strongest, tied(a, j))
		}
	}
	return into.numbered(), count
}

// tie is the worth of joining clusters a and b, a < b.
type tie struct {
	worth float64
	a, b  int32
}

// ties is a heap, with the largest worth on top.
type ties []tie

func (t ties) Len() int      { return len(t) }
func (t ties) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t ties) Less(i, j int) bool {
	x, y := t[i], t[j]
	return cmp.Or(cmp.Compare(y.worth, x.worth), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) < 0
}
func (t *ties) Push(v any) { *t = append(*t, v.(tie)) }

func (t *ties) Pop() any {
	last := len(*t) - 1
	v := (*t)[last]
	*t = (*t)[:last]
	return v
}

// parts holds for each cluster the one that it was joined with: itself, or an earlier one.
type parts []int32

// separate returns n clusters, none of them joined.
func separate(n int) parts {
	into := make(parts, n)
	for i := range into {
		into[i] = int32(i)
	}
	return into
}

// of returns the first of the clusters that i is joined with.
func (into parts) of(i int32) int32 {
	for into[i] != i {
		into[i] = into[into[i]]
		i = into[i]
	}
	return i
}

// numbered returns the number of each cluster after joining, in the order of their first members.
func (into parts) numbered() []int32 {
	number := make([]int32, len(into))
	var count int32
	for i, a := range into {
		if int(a) == i {
			number[i] = count
			count++
		} else {
			number[i] = number[a]
		}
	}
	return number
}
