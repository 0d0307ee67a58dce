package evaluate

import (
	"math"
	"slices"
)

// contingency counts the items of each (truth, answer) pair. Numbers of classes and clusters are arbitrary.
type contingency struct {
	n              float64
	truth, answers []float64     // totals
	counts         []map[int]int // truth -> answer -> items
}

func countPairs(truth, answer []int32) contingency {
	t, a := map[int32]int{}, map[int32]int{}
	number := func(m map[int32]int, v int32) int {
		i, ok := m[v]
		if !ok {
			i = len(m)
			m[v] = i
		}
		return i
	}
	c := contingency{n: float64(len(truth))}
	for i := range truth {
		x, y := number(t, truth[i]), number(a, answer[i])
		if x == len(c.truth) {
			c.truth, c.counts = append(c.truth, 0), append(c.counts, map[int]int{})
		}
		if y == len(c.answers) {
			c.answers = append(c.answers, 0)
		}
		c.truth[x]++
		c.answers[y]++
		c.counts[x][y]++
	}
	return c
}

// each visits the non-empty cells in a fixed order, so that sums are the same in every run.
func (c contingency) each(visit func(truth, answer int, count float64)) {
	for x, row := range c.counts {
		columns := make([]int, 0, len(row))
		for y := range row {
			columns = append(columns, y)
		}
		slices.Sort(columns)
		for _, y := range columns {
			visit(x, y, float64(row[y]))
		}
	}
}

// pairs returns the number of pairs of v items.
func pairs(v float64) float64 { return v * (v - 1) / 2 }

// together counts the pairs of items that are together in both, in truth, and in answers.
func (c contingency) together() (both, truth, answers float64) {
	c.each(func(_, _ int, v float64) { both += pairs(v) })
	for _, v := range c.truth {
		truth += pairs(v)
	}
	for _, v := range c.answers {
		answers += pairs(v)
	}
	return both, truth, answers
}

// NMI is the mutual information of truth and answer divided by the mean of their entropies; 1 if each is
// a single cluster.
func NMI(truth, answer []int32) float64 {
	c := countPairs(truth, answer)
	entropy := func(totals []float64) (h float64) {
		for _, v := range totals {
			h -= v / c.n * math.Log(v/c.n)
		}
		return h
	}
	h := (entropy(c.truth) + entropy(c.answers)) / 2
	if h == 0 {
		return 1
	}
	var mutual float64
	c.each(func(x, y int, v float64) { mutual += v / c.n * math.Log(v*c.n/(c.truth[x]*c.answers[y])) })
	return max(0, mutual/h)
}

// ARI is the share of pairs that truth and answer agree on, corrected for chance: 0 is chance, 1 equal.
func ARI(truth, answer []int32) float64 {
	c := countPairs(truth, answer)
	both, t, a := c.together()
	expected := t * a / max(1, pairs(c.n))
	if most := (t + a) / 2; most != expected {
		return (both - expected) / (most - expected)
	}
	return 1
}

// ClusterAccuracy is the share of items that are right under the best one-to-one assignment of
// clusters to classes.
func ClusterAccuracy(truth, answer []int32) float64 {
	c := countPairs(truth, answer)
	size := max(len(c.truth), len(c.answers))
	cost := make([][]float64, size)
	for x := range cost {
		cost[x] = make([]float64, size)
	}
	c.each(func(x, y int, v float64) { cost[x][y] = -v })
	var right float64
	for x, y := range assign(cost) {
		right -= cost[x][y]
	}
	return right / c.n
}

// assign assigns each row of a square cost matrix its own column at the least total cost
// (Kuhn-Munkres with potentials).
func assign(cost [][]float64) []int {
	n := len(cost)
	rowPrice, columnPrice := make([]float64, n+1), make([]float64, n+1)
	// for each column, 1-based; column 0 holds the row being added
	owner, from := make([]int, n+1), make([]int, n+1)
	for row := 1; row <= n; row++ {
		owner[0] = row
		column := 0
		slack, seen := make([]float64, n+1), make([]bool, n+1)
		for j := range slack {
			slack[j] = math.Inf(1)
		}
		for owner[column] != 0 {
			seen[column] = true
			i, least, next := owner[column], math.Inf(1), 0
			for j := 1; j <= n; j++ {
				if seen[j] {
					continue
				}
				if v := cost[i-1][j-1] - rowPrice[i] - columnPrice[j]; v < slack[j] {
					slack[j], from[j] = v, column
				}
				if slack[j] < least {
					least, next = slack[j], j
				}
			}
			for j := range n + 1 {
				if seen[j] {
					rowPrice[owner[j]] += least
					columnPrice[j] -= least
				} else {
					slack[j] -= least
				}
			}
			column = next
		}
		for column != 0 {
			owner[column] = owner[from[column]]
			column = from[column]
		}
	}
	out := make([]int, n)
	for j := 1; j <= n; j++ {
		out[owner[j]-1] = j - 1
	}
	return out
}
