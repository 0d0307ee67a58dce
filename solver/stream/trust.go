package stream

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Before later labels show how often answers are right, the items themselves show how far the examples can be
// trusted: items of classes that look as their examples do gather about these, others lie anywhere between them. So
// the trust is in proportion to the concentration with which the items gather: the most likely tau of a mixture of
// normal densities about the prototypes of the labelled items, in the directions in which these differ.
const (
	trustOfConcentration = .08 // where a trust of 1 is one in the solve's own tau; see bench/NOTES.md
	comparedClasses      = 64  // at most, chosen evenly, as are the items
	comparedItems        = 128
	leastClasses         = 3
)

// concentration returns the concentration of the episode's unlabelled items; false: there is too little to compare.
func (e *episode) concentration(r *solver.Result) (tau float64, ok bool) {
	p, d := e.problem, e.problem.D
	rows, classes := r.Examples()
	var unlabelled []int
	for i, c := range p.labels {
		if c < 0 {
			unlabelled = append(unlabelled, i)
			continue
		}
		rows, classes = append(rows, r.Z[i*d:i*d+d]...), append(classes, c)
	}
	labelled, n := len(classes), min(len(unlabelled), comparedItems)
	for i := range n {
		at := unlabelled[i*len(unlabelled)/n]
		rows = append(rows, r.Z[at*d:at*d+d]...)
	}
	if m := p.Embedding; m != nil && m.Metric != nil {
		about := new(metric.Map)
		m.Metric.About(r.Mean, about)
		about.Apply(rows, nil)
	}
	means := e.prototypesOf(rows, classes)
	if n == 0 || len(means) < leastClasses*d {
		return 0, false
	}
	return mostLikelyTau(within(rows[labelled*d:], means, d))
}

// prototypesOf returns the prototypes of labelled rows, without those of class Nobody, of at most comparedClasses.
func (e *episode) prototypesOf(rows []float32, classes []int32) []float32 {
	p, d := e.problem, e.problem.D
	counts, number := make([]int, p.K), make([]int, p.K)
	for _, c := range classes {
		if c != p.nobody() {
			counts[c]++
		}
	}
	var known []int
	for c, count := range counts {
		if number[c] = -1; count > 0 {
			known = append(known, c)
		}
	}
	k := min(len(known), comparedClasses)
	for i := range k {
		number[known[i*len(known)/k]] = i
	}
	means := make([]float32, k*d)
	for i, c := range classes {
		if at := number[c]; at >= 0 {
			kernel.Axpy(1/float32(counts[c]), rows[i*d:i*d+d], means[at*d:at*d+d])
		}
	}
	for c := range k {
		mean := means[c*d : c*d+d]
		by, _ := solver.Pull(e.stream.settings.Solver.Pull, max(1e-12, float64(kernel.Dot(mean, mean))))
		kernel.Scale(float32(by), mean)
	}
	return means
}

// within returns the squared distances of items to means in the subspace of the differences of the means, a row an
// item, and its dimension. It overwrites both.
func within(items, means []float32, d int) (squares [][]float64, dimension int) {
	k, n := len(means)/d, len(items)/d
	origin := append([]float32(nil), means[(k-1)*d:]...)
	for _, rows := range [][]float32{means, items} {
		for at := 0; at < len(rows); at += d {
			kernel.Axpy(-1, origin, rows[at:at+d])
		}
	}
	gram, products := make([]float32, k*k), make([]float32, n*k)
	kernel.Gram(gram, means, k, d)
	kernel.Products(products, items, means, n, k, d)
	// The means but the last, which is 0 now, are L times an orthonormal basis: L L' is their Gram matrix.
	l := make([][]float64, k-1)
	for i := range l {
		l[i] = make([]float64, k-1)
		for j := range i {
			l[i][j] = (float64(gram[i*k+j]) - product(l[i][:j], l[j][:j])) / l[j][j]
		}
		rest := float64(gram[i*k+i]) - product(l[i][:i], l[i][:i])
		if l[i][i] = math.Inf(1); rest > 1e-5*float64(gram[i*k+i]) { // else it is in the subspace of the others
			l[i][i] = math.Sqrt(rest)
			dimension++
		}
	}
	along := make([]float64, k-1)
	for i := range n {
		row := products[i*k : i*k+k]
		for j := range along {
			along[j] = (float64(row[j]) - product(l[j][:j], along[:j])) / l[j][j]
		}
		own, square := make([]float64, k), product(along, along)
		for c := range own {
			own[c] = max(0, square-2*float64(row[c])+float64(gram[c*k+c]))
		}
		squares = append(squares, own)
	}
	return squares, dimension
}

func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// mostLikelyTau returns the tau for which rows of squared distances are most likely, sum_k exp(-tau d2_k)
// tau^(dimension/2) each, by steps of expectation maximisation; false: there is none.
func mostLikelyTau(squares [][]float64, dimension int) (tau float64, ok bool) {
	const steps = 50
	tau = 1
	for range steps {
		sum := 0.
		for _, row := range squares {
			least := row[0]
			for _, v := range row {
				least = min(least, v)
			}
			all, part := 0., 0.
			for _, v := range row {
				weight := math.Exp(-tau * (v - least))
				all, part = all+weight, part+weight*v
			}
			sum += part / all
		}
		if !(sum > 0) || dimension == 0 {
			return 0, false
		}
		next := float64(dimension) * float64(len(squares)) / 2 / sum
		if done := math.Abs(next-tau) < 1e-3*tau; done {
			return next, true
		}
		tau = next
	}
	return tau, true
}
