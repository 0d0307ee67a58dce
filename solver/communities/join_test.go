package communities

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// matrix returns the rows of a matrix of d columns.
func matrix(values []float32, d int) Rows {
	return Rows{D: d, At: func(p int) []float32 { return values[p*d : p*d+d] }}
}

// However many pieces a graph has and however many clusters are wanted, near rows are in one cluster.
func TestManyPieces(t *testing.T) {
	for _, c := range []struct{ pieces, k, clusters int }{
		{6000, 0, 6000},
		{4000, 3500, 3500},
		{4000, 3, 3},
		{mostJoined + 500, 3, 3},
	} {
		graph := &index.Affinity{Offsets: []int64{0}}
		random := rand.New(rand.NewPCG(3, 4))
		const d = 4
		var rows []float32
		for i := range c.pieces { // two rows tied only to each other; three groups of pieces, far apart
			for j := range 2 {
				graph.Columns, graph.Weights = append(graph.Columns, int32(2*i+1-j)), append(graph.Weights, 1)
				graph.Offsets = append(graph.Offsets, int64(len(graph.Columns)))
				row := make([]float32, d)
				for x := range row {
					row[x] = float32(random.NormFloat64())
				}
				row[i%3] += 100
				rows = append(rows, row...)
			}
		}
		cluster, count := Find(graph, c.k, matrix(rows, d), 1)
		group := map[int32]int{}
		for i, to := range cluster {
			if g, known := group[to]; known && g != i/2%3 {
				t.Fatalf("%v: cluster %d has rows of groups %d and %d", c, to, g, i/2%3)
			}
			if group[to] = i / 2 % 3; to != cluster[i/2*2] {
				t.Fatalf("%v: the tied rows %d and %d are in clusters %d and %d", c, i/2*2, i, cluster[i/2*2], to)
			}
		}
		if len(group) != c.clusters || count != c.clusters {
			t.Errorf("%v: %d clusters, said to be %d", c, len(group), count)
		}
	}
}

// Groups that a stray edge ties are not one cluster because the graph falls into more parts than clusters are wanted.
func TestStrayTiesAmongPieces(t *testing.T) {
	const groups, members, pieces, d = 3, 40, 6, 4
	random := rand.New(rand.NewPCG(7, 8))
	lists := make([][]int32, groups*members+2*pieces)
	tie := func(p, q int) {
		lists[p], lists[q] = append(lists[p], int32(q)), append(lists[q], int32(p))
	}
	for g := range groups {
		for i := range members {
			for j := range i {
				if random.IntN(4) == 0 {
					tie(g*members+i, g*members+j)
				}
			}
		}
		if g > 0 {
			tie(g*members, g*members-1)
		}
	}
	group := func(p int) int { return p / members }
	for i := range pieces { // rows of a group, tied only to each other
		tie(groups*members+2*i, groups*members+2*i+1)
	}
	rows, graph := []float32{}, &index.Affinity{Offsets: []int64{0}}
	for p, list := range lists {
		slices.Sort(list)
		graph.Columns = append(graph.Columns, list...)
		graph.Weights = append(graph.Weights, slices.Repeat([]float32{1}, len(list))...)
		graph.Offsets = append(graph.Offsets, int64(len(graph.Columns)))
		row := make([]float32, d)
		for x := range row {
			row[x] = float32(random.NormFloat64())
		}
		if p >= groups*members {
			p = (p - groups*members) / 2 % groups * members
		}
		row[group(p)] += 20
		rows = append(rows, row...)
	}
	cluster, count := Find(graph, groups, matrix(rows, d), 1)
	if count != groups {
		t.Fatalf("%d clusters of %d", count, groups)
	}
	for p, c := range cluster[:groups*members] {
		if c != cluster[group(p)*members] || group(p) > 0 && c == cluster[0] {
			t.Fatalf("row %d of group %d is in cluster %d; the groups' first rows are in %d, %d, %d",
				p, group(p), c, cluster[0], cluster[members], cluster[2*members])
		}
	}
}

// The result is the same as if the cheapest pair of all were joined at every step.
func TestJoinsTheCheapestPair(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		n, d := 3+random.IntN(60), 1+random.IntN(5)
		k := 1 + random.IntN(n)
		member := make([]int32, 3*n)
		rows := make([]float32, len(member)*d)
		for p := range member {
			if member[p] = int32(p); p >= n {
				member[p] = int32(random.IntN(n))
			}
		}
		for i := range rows {
			rows[i] = float32(random.NormFloat64())
		}
		got, left := join(matrix(rows, d), member, n, k)
		want := slices.Clone(member)
		for clusters := n; clusters > k; clusters-- {
			a, b, least := int32(0), int32(0), math.Inf(1)
			for i := range int32(n) {
				for j := range i {
					cost := spread(rows, d, want, i, j) - spread(rows, d, want, i, i) - spread(rows, d, want, j, j)
					if cost < least {
						a, b, least = j, i, cost
					}
				}
			}
			for p, c := range want {
				if c == b {
					want[p] = a
				}
			}
		}
		if left != k {
			t.Fatalf("%d clusters of %d asked for", left, k)
		}
		for p := range want {
			for q := range p {
				if (got[member[p]] == got[member[q]]) != (want[p] == want[q]) {
					t.Fatalf("%d of %d clusters: rows %d and %d are together by one way alone", k, n, p, q)
				}
			}
		}
	}
}

// spread returns the sum of squared distances of the rows of two clusters to their mean; +Inf if a cluster
// has no row.
func spread(rows []float32, d int, cluster []int32, a, b int32) float64 {
	var sum float64
	found := [2]bool{}
	for x := range d {
		var total, squares, n float64
		for p, c := range cluster {
			if c == a || c == b {
				v := float64(rows[p*d+x])
				total, squares, n = total+v, squares+v*v, n+1
				found[0], found[1] = found[0] || c == a, found[1] || c == b
			}
		}
		sum += squares - total*total/max(n, 1)
	}
	if !found[0] || !found[1] {
		return math.Inf(1)
	}
	return sum
}
