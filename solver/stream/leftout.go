package stream

import (
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/metric"
)

// leftOutMost bounds the labelled items that are left out; they are chosen evenly.
const leftOutMost = 128

// learn leaves out labelled items that have another one of their class, each by itself, whenever the metric
// is refreshed, and scores them against all others. Items of class Nobody are not used.
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
	if v.leftOut = nil; len(chosen) < enough {
		return
	}
	spaces := [][]float32{z}
	if m := s.metric.current; m != nil {
		u, about := slices.Clone(z), new(metric.Map)
		m.About(of.rows.Mean, about)
		about.Apply(u, nil)
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
}

// nearestOther returns the largest product of each chosen row with another one that is not of class nobody.
func nearestOther(rows []float32, classes []int32, chosen []int, nobody int32, d int) []float32 {
	const some = 256 // rows at once, so that the products stay in the cache
	queries, best := make([]float32, 0, len(chosen)*d), make([]float32, len(chosen))
	for i, at := range chosen {
		queries, best[i] = append(queries, rows[at*d:at*d+d]...), -1
	}
	products := make([]float32, len(chosen)*min(some, len(classes)))
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
