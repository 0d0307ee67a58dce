package solver

import (
	"context"
	"math/rand/v2"
	"testing"
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
	p := &Problem{Rows: Rows{d: d}, K: classes}
	truth := make([]int, 0, p.Rows.N())
	for c := range classes {
		class := make([]float32, d)
		normal(1, class)
		for range groups {
			group := append([]float32(nil), class...)
			normal(.5, group)
			for range size {
				row := append([]float32(nil), group...)
				normal(.02, row)
				p.Rows.values = append(p.Rows.values, row...)
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
