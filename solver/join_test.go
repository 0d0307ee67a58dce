package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// Classes that consist of groups without edges between them are found: the graph finds the groups, and the
// rows decide which of them are near.
func TestGroupsThatNothingTies(t *testing.T) {
	const classes, groups, size, d = 4, 6, 40, 16
	random := rand.New(rand.NewPCG(1, 2))
	normal := func(scale float64, row []float32) {
		for i := range row {
			row[i] += float32(scale * random.NormFloat64())
		}
	}
	p := &Problem{N: classes * groups * size, D: d, K: classes}
	truth := make([]int, 0, p.N)
	for c := range classes {
		class := make([]float32, d)
		normal(1, class)
		for range groups {
			group := append([]float32(nil), class...)
			normal(.5, group)
			for range size {
				row := append([]float32(nil), group...)
				normal(.02, row)
				p.Rows = append(p.Rows, row...)
				truth = append(truth, c)
			}
		}
	}
	settings, err := Clustering("slk-means")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Solve(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	cluster := map[int]int32{}
	for i, c := range truth {
		if first, known := cluster[c]; known && first != r.Labels[i] {
			t.Fatalf("row %d of class %d is in cluster %d, its first row in %d", i, c, r.Labels[i], first)
		}
		cluster[c] = r.Labels[i]
	}
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
		cluster := Communities(graph, c.k, PointsOf(rows, d), 1)
		group := map[int32]int{}
		for i, to := range cluster {
			if g, known := group[to]; known && g != i/2%3 {
				t.Fatalf("%v: cluster %d has rows of groups %d and %d", c, to, g, i/2%3)
			}
			if group[to] = i / 2 % 3; to != cluster[i/2*2] {
				t.Fatalf("%v: the tied rows %d and %d are in clusters %d and %d", c, i/2*2, i, cluster[i/2*2], to)
			}
		}
		if len(group) != c.clusters {
			t.Errorf("%v: %d clusters", c, len(group))
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
		got, left := join(PointsOf(rows, d), member, n, k)
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
