package file

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// texts returns a vector for each class of a problem: one of its support rows, and what all have in
// common, as texts lie apart from pictures.
func texts(p *Problem, seed uint64) vector.Matrix {
	random := rand.New(rand.NewPCG(seed, 5))
	apart := make([]float32, p.D)
	for j := range apart {
		apart[j] = float32(random.NormFloat64())
	}
	out := vector.New(p.K, p.D)
	for c := range p.K {
		copy(out.Row(c), p.Support.Row(c))
		kernel.Axpy(1, apart, out.Row(c))
	}
	return out
}

// Without a labelled row class vectors name the classes, better than by the nearest vector alone; with some,
// they help, or count for nothing if they are another class's.
func TestClassVectors(t *testing.T) {
	p, truth := blobs(1500, 24, 8, 2, false, 1.6, 4)
	vectors := texts(p, 4)
	without := accuracy(solve(t, p, Settings{}).Labels, truth)
	nearest := make([]int32, p.N)
	i := 0
	_ = p.Read(func(row []float32, _ int32) error {
		best := float32(math.Inf(-1))
		for c := range p.K {
			v := vectors.Row(c)
			if cos := kernel.Dot(v, row) / float32(math.Sqrt(float64(kernel.Dot(v, v)))); cos > best {
				best, nearest[i] = cos, int32(c)
			}
		}
		i++
		return nil
	})
	alone := *p
	alone.Support, alone.SupportClasses, alone.ClassVectors = vector.Matrix{D: p.D}, nil, vectors
	plain := accuracy(nearest, truth)
	if got := accuracy(solve(t, &alone, Settings{}).Labels, truth); got < plain+.05 {
		t.Errorf("without labelled rows %.3f right, the nearest vector %.3f", got, plain)
	}
	one := *p // one labelled row a class, and its other row as the vector
	one.Support, one.SupportClasses = vector.Rows(p.Support.Values[8*24:], 24), p.SupportClasses[8:]
	before := accuracy(solve(t, &one, Settings{}).Labels, truth)
	one.ClassVectors = vectors
	if got := accuracy(solve(t, &one, Settings{}).Labels, truth); got < before-.02 {
		t.Errorf("%.3f right with class vectors, %.3f without", got, before)
	}
	got := 0. // in the mean of two draws, as a vote of more answers breaks some ties otherwise
	for _, seed := range []uint64{4, 5} {
		if seed != 4 {
			p, truth = blobs(1500, 24, 8, 2, false, 1.6, seed)
			vectors = texts(p, 4)
			without += accuracy(solve(t, p, Settings{}).Labels, truth)
		}
		wrong := *p
		wrong.ClassVectors = vector.Rows(slices.Concat(vectors.Values[24:], vectors.Values[:24]), 24)
		got += accuracy(solve(t, &wrong, Settings{}).Labels, truth)
	}
	if got < without-2*.002 {
		t.Errorf("%.3f right with the vectors of other classes, %.3f without", got/2, without/2)
	}
}

// A class that no row is labelled with is found by its vector, beside classes that have labelled rows.
func TestClassVectorsOfSomeClasses(t *testing.T) {
	p, truth := blobs(1500, 24, 8, 2, false, .9, 5)
	vectors := texts(p, 5)
	p.ClassVectors = vectors
	var rows []float32
	var classes []int32
	for i, c := range p.SupportClasses {
		if c < 4 {
			rows, classes = append(rows, p.Support.Row(i)...), append(classes, c)
		}
	}
	p.Support, p.SupportClasses = vector.Rows(rows, p.D), classes
	if got := accuracy(solve(t, p, Settings{}).Labels, truth); got < .9 {
		t.Errorf("%.3f right", got)
	}
	if len(p.SupportClasses) != len(classes) {
		t.Error("the caller's problem was changed")
	}
}

func TestClassVectorsRefused(t *testing.T) {
	p, _ := blobs(200, 24, 8, 2, false, .9, 5)
	p.ClassVectors, p.SupportClasses[3] = texts(p, 5), 8
	_, err := Solve(context.Background(), p, Settings{})
	if err == nil || !strings.Contains(err.Error(), "support 3") {
		t.Errorf("%v, want support 3", err)
	}
	for says, change := range map[string]func(*vector.Matrix){
		"class vectors: 7 of 24": func(m *vector.Matrix) { *m = m.Slice(0, 7) },
		"class vector 3":         func(m *vector.Matrix) { clear(m.Row(3)) },
		"class vector 2":         func(m *vector.Matrix) { m.Row(2)[5] = float32(math.NaN()) },
	} {
		p, _ := blobs(200, 24, 8, 2, false, .9, 5)
		p.ClassVectors = texts(p, 5)
		change(&p.ClassVectors)
		_, err := Solve(context.Background(), p, Settings{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
