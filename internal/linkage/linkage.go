// Package linkage groups what is most alike on average.
package linkage

// Merge joins the group of From to that of To, whose mean likeness over all pairs of theirs was Alike.
type Merge struct {
	To, From int // To is below From, which occurs no more
	Alike    float32
}

// Average merges the two most similar of n groups, again and again, as long as the mean likeness over their
// pairs reaches limit. alike is n x n and symmetric, and is overwritten; groups that are -Inf alike, or hold
// two that are, never merge. sizes says how many each group counts for, and is overwritten; nil: one each.
func Average(alike []float32, n int, sizes []float32, limit float64) []Merge {
	if sizes == nil {
		sizes = make([]float32, n)
		for i := range sizes {
			sizes[i] = 1
		}
	}
	gone := make([]bool, n)
	best := make([]int, n) // of each group: the most similar one before it; -1: none
	visit := func(i int) {
		best[i] = -1
		for j := range i {
			if !gone[j] && (best[i] < 0 || alike[i*n+j] > alike[i*n+best[i]]) {
				best[i] = j
			}
		}
	}
	for i := range n {
		visit(i)
	}
	var merges []Merge
	for {
		from := -1
		for i, j := range best {
			if !gone[i] && j >= 0 && (from < 0 || alike[i*n+j] > alike[from*n+best[from]]) {
				from = i
			}
		}
		if from < 0 || float64(alike[from*n+best[from]]) < limit {
			return merges
		}
		to := best[from]
		merges = append(merges, Merge{to, from, alike[from*n+to]})
		a, b := sizes[from], sizes[to]
		gone[from], sizes[to] = true, a+b
		for k := range n {
			if gone[k] || k == to {
				continue
			}
			v := (a*alike[from*n+k] + b*alike[to*n+k]) / (a + b)
			alike[to*n+k], alike[k*n+to] = v, v
		}
		for k := range n {
			if k >= to && !gone[k] && (k == to || best[k] == from || best[k] == to) {
				visit(k)
			} else if k > to && !gone[k] && alike[k*n+to] > alike[k*n+best[k]] {
				best[k] = to
			}
		}
	}
}

// Groups lists the members of the groups that merges leave of n, by their first members.
func Groups(n int, merges []Merge) [][]int {
	groups := make([][]int, n)
	for i := range groups {
		groups[i] = []int{i}
	}
	for _, m := range merges {
		groups[m.To], groups[m.From] = append(groups[m.To], groups[m.From]...), nil
	}
	left := groups[:0]
	for _, g := range groups {
		if g != nil {
			left = append(left, g)
		}
	}
	return left
}
