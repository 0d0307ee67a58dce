package solver

import (
	"math"
	"slices"
)

// pairs are what agglomerate asks of the clusters that it joins.
type pairs struct {
	worth  func(i, j int) float64                 // of joining two, -Inf: never
	enough func(clusters int, worth float64) bool // given the most that a pair is worth
	unite  func(a, b int, others []int)           // a becomes both; others are all but these two
}

// agglomerate joins the pair of clusters that is worth most, the first of equals, until it is enough. It
// returns the cluster that each of the n has become part of, numbered by their first, and their number.
func agglomerate(n int, p pairs) ([]int32, int) {
	into, alive := make([]int32, n), make([]int, n)
	for i := range n {
		into[i], alive[i] = int32(i), i
	}
	most := make([]float64, n) // of a cluster with a later one, and which
	with := make([]int, n)
	look := func(i int) {
		most[i], with[i] = math.Inf(-1), -1
		for _, j := range alive {
			if j > i {
				if worth := p.worth(i, j); worth > most[i] {
					most[i], with[i] = worth, j
				}
			}
		}
	}
	for i := range n {
		look(i)
	}
	others := make([]int, 0, n)
	for len(alive) > 1 {
		a := alive[0]
		for _, i := range alive {
			if most[i] > most[a] {
				a = i
			}
		}
		if with[a] < 0 || p.enough(len(alive), most[a]) {
			break
		}
		b := with[a]
		into[b] = int32(a)
		at, _ := slices.BinarySearch(alive, b)
		alive = slices.Delete(alive, at, at+1)
		others = others[:0]
		for _, i := range alive {
			if i != a {
				others = append(others, i)
			}
		}
		p.unite(a, b, others)
		for _, i := range alive {
			if i == a || with[i] == a || with[i] == b {
				look(i)
			} else if i < a {
				if worth := p.worth(i, a); worth > most[i] {
					most[i], with[i] = worth, a
				}
			}
		}
	}
	number := make([]int32, n)
	for c, i := range alive {
		number[i] = int32(c)
	}
	for i := range n {
		root := i
		for int(into[root]) != root {
			root = int(into[root])
		}
		number[i] = number[root]
	}
	return number, len(alive)
}
