package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// leftOutMost bounds the labelled items that are left out; they are chosen evenly.
const leftOutMost = 128

// learn leaves out labelled items that have another one of their class, each by itself, whenever the metric
// is refreshed: it scores them against all others, and fits the confidence to whether they are answered
// right. Items of class Nobody are not used.
func (v *novelty) learn(s *Stream, of *lesson) {
	if !metric.Refreshes(of.number) {
		return
	}
	d, k := s.dimension, of.rows.K
	z, classes, nobody, count := of.z, of.classes, of.nobody, make([]int, k)
	for _, c := range classes {
		count[c]++
	}
	var chosen []int
	for i, c := range classes {
		if count[c] > 1 && c != nobody {
			chosen = append(chosen, i)
		}
	}
	if v.leftOut, v.fit = nil, (confidenceFit{}); len(chosen) < enoughScores {
		return
	}
	spaces := [][]float32{z}
	if m := s.metric.current; m != nil {
		u := slices.Clone(z)
		m.About(of.rows.Mean).Apply(u, nil)
		spaces = append(spaces, u)
	}
	n := min(leftOutMost, len(chosen))
	for i := range n {
		chosen[i] = chosen[i*len(chosen)/n]
	}
	v.leftOut = make([]float64, n)
	for _, rows := range spaces {
		for i, product := range nearestOther(rows, classes, chosen[:n], nobody, d) {
			v.leftOut[i] += distance(product) / float64(len(spaces))
		}
	}
	slices.Sort(v.leftOut)
	v.fit = leftOutFit(spaces[len(spaces)-1], classes, chosen[:n], k, d, &s.settings.Solver)
}

// leftOutFit answers each chosen row by the prototypes of all other rows, and fits the confidence, z of
// solver.Result, to whether the answers are right.
func leftOutFit(
	rows []float32, classes []int32, chosen []int, k, d int, set *solver.Settings,
) confidenceFit {
	sums, count := make([]float32, k*d), make([]float32, k)
	for i, c := range classes {
		kernel.Axpy(1, rows[i*d:i*d+d], sums[int(c)*d:int(c)*d+d])
		count[c]++
	}
	prototypes, squares := make([]float32, k*d), make([]float32, k)
	prototype := func(c int, sum []float32, n float32) {
		at := prototypes[c*d : c*d+d]
		copy(at, sum)
		kernel.Scale(1/max(n, 1), at)
		pulled, _ := solver.Pull(set.U, max(1e-24, float64(kernel.Dot(at, at))))
		kernel.Scale(float32(pulled), at)
		squares[c] = kernel.Dot(at, at)
	}
	for c := range k {
		prototype(c, sums[c*d:c*d+d], count[c])
	}
	near, others := make([]float32, k), make([]float32, d)
	z, right := make([]float64, len(chosen)), make([]bool, len(chosen))
	for i, at := range chosen {
		row, c := rows[at*d:at*d+d], int(classes[at])
		sum := sums[c*d : c*d+d]
		copy(others, sum)
		kernel.Axpy(-1, row, others)
		prototype(c, others, count[c]-1)
		kernel.Products(near, row, prototypes, 1, k, d)
		for j := range near {
			if near[j] = float32(set.Tau) * (2*near[j] - squares[j]); count[j] == 0 {
				near[j] = float32(math.Inf(-1))
			}
		}
		kernel.SoftmaxRows(near, 1, k)
		best := slices.Max(near)
		z[i], right[i] = logit(float64(best)), slices.Index(near, best) == c
		prototype(c, sum, count[c])
	}
	return fitConfidence(len(z), func(i int) (float64, bool) { return z[i], right[i] })
}

// nearestOther returns the largest product of each chosen row with another one that is not of class nobody.
func nearestOther(rows []float32, classes []int32, chosen []int, nobody int32, d int) []float32 {
	const some = 256 // rows at once, so that the products stay in the cache
	queries, best := make([]float32, 0, len(chosen)*d), make([]float32, len(chosen))
	for i, at := range chosen {
		queries, best[i] = append(queries, rows[at*d:at*d+d]...), -1
	}
	products := make([]float32, len(chosen)*some)
	for from := 0; from < len(classes); from += some {
		part := classes[from:min(from+some, len(classes))]
		kernel.Products(products, queries, rows[from*d:], len(chosen), len(part), d)
		for i, at := range chosen {
			for j, product := range products[i*len(part) : (i+1)*len(part)] {
				if product > best[i] && from+j != at && part[j] != nobody {
					best[i] = product
				}
			}
		}
	}
	return best
}
