package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Means are the soft class means of episodes, each less the mean of its episode: they show how classes lie
// to one another.
type Means struct {
	Rows   []float32 // n x d, one after the other, the oldest first
	Weight []float64 // n: the mass of the class, at most 1
	Points float64   // sum of the masses of the means
}

// mostMeans bounds the means that are kept.
const mostMeans = 512

// AddMeans adds the class means of an episode, from its z-rows and their S, k values a row.
func (s *Scatter) AddMeans(z, soft []float32, k int) {
	d := s.Dimension
	s.weigh(z, soft, k)
	all := make([]float32, d)
	for c, m := range s.mass {
		kernel.Axpy(m/float32(len(z)/d), s.mean[c*d:c*d+d], all)
	}
	for c, m := range s.mass {
		if m < .5 { // too little mass for a mean
			continue
		}
		row := s.mean[c*d : c*d+d]
		kernel.Axpy(-1, all, row)
		b := &s.Between
		b.Rows, b.Weight = append(b.Rows, row...), append(b.Weight, min(1, float64(m)))
		b.Points += float64(m)
		if over := len(b.Weight) - mostMeans; over > 0 {
			b.Points *= float64(mostMeans) / float64(mostMeans+over)
			b.Rows, b.Weight = slices.Delete(b.Rows, 0, over*d), slices.Delete(b.Weight, 0, over)
		}
	}
}

// Separating returns the metric of the residuals so far that also separates classes. With P the map of m, B
// the covariance of past class means in P's space less the noise in them, and Q and b its eigenpairs, b
// shrunk towards their mean as those of m are, it is
//
//	M = P Q diag( b / (b + weight t) ) Q' P        t the mean variance within a class in P's space
//
// and so shrinks directions in which classes hardly differ. It keeps the rank directions of M that differ
// most from the rest; some may grow. It returns m while there are too few means.
func (s *Scatter) Separating(m *Metric, rank int, weight float64) (*Metric, error) {
	d, n := s.Dimension, len(s.Between.Weight)
	if m == nil || n < fewMeans || weight <= 0 {
		return m, nil
	}
	var p Map
	m.About(nil, &p)
	within := slices.Clone(s.full) // scatter of the Refresh that made m
	kernel.Scale(float32(1/s.Freedom()), within)
	mapped(within, &p, d)
	t := 0.
	for i := range d {
		t += float64(within[i*d+i]) / float64(d)
	}
	total := 0.
	rows := slices.Clone(s.Between.Rows)
	p.Shrink(rows, nil)
	for i, w := range s.Between.Weight {
		kernel.Scale(float32(math.Sqrt(w)), rows[i*d:i*d+d])
		total += w
	}
	between := make([]float32, d*d)
	kernel.AddOuter(between, rows, n, d)
	kernel.Mirror(between, d)
	kernel.Scale(float32(1/total), between)
	kernel.Axpy(-float32(float64(n)/s.Between.Points), within, between)
	trace := 0.
	for i := range d {
		trace += float64(between[i*d+i])
	}
	mean := trace / float64(d)
	if !(mean > 0 && t > 0) {
		return m, nil
	}
	top := min(d, n, mostDirections)
	// Less its noise the matrix may have negative eigenvalues, none below minus the noise's largest. That is
	// added during the search.
	noise, _, err := vector.TopEigenpairs(within, d, 1)
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	most := noise[0] * float64(n) / s.Between.Points
	for i := range d {
		between[i*d+i] += float32(most)
	}
	values, vectors, err := vector.TopEigenpairs(between, d, top)
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	for i := range values {
		values[i] -= most
	}
	gain := func(b float64) float64 {
		b = max(0, (1-s.shrink)*b+s.shrink*mean)
		return b / (b + weight*t)
	}
	rest := trace // of the other directions
	for _, b := range values {
		rest -= b
	}
	rest = gain(rest / float64(max(1, d-top)))
	// M = rest P P + (P Q) diag(gain - rest) (P Q)': rest in all directions but those of P and Q.
	p.Shrink(vectors[:top*d], nil)
	width := len(m.Scales) + top
	span, basis := slices.Concat(p.Vectors, vectors), make([]float32, width*d)
	vector.Orthonormal(basis, span, d, 2)
	small := mat.NewSymDense(width, nil)
	alongV, alongQ := make([]float32, width*len(m.Scales)), make([]float32, width*top)
	kernel.Products(alongV, basis, p.Vectors, width, len(m.Scales), d)
	kernel.Products(alongQ, basis, vectors, width, top, d)
	for i := range width {
		for j := i; j < width; j++ {
			var sum float64
			if i == j && kernel.Dot(basis[i*d:i*d+d], basis[i*d:i*d+d]) > .5 {
				sum = rest
			}
			for v, scale := range m.Scales {
				sum += rest * (float64(scale)*float64(scale) - 1) *
					float64(alongV[i*len(m.Scales)+v]) * float64(alongV[j*len(m.Scales)+v])
			}
			for q, b := range values {
				sum += (gain(b) - rest) * float64(alongQ[i*top+q]) * float64(alongQ[j*top+q])
			}
			small.SetSym(i, j, sum)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(small, true) {
		return nil, fmt.Errorf("metric: no eigenvectors of class means of dimension %d", d)
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	return m.along(basis, eigen.Values(nil), &q, rest, rank), nil
}

// Fewer means than fewMeans are not used. At most mostDirections eigenpairs are computed.
const (
	fewMeans       = 8
	mostDirections = 64
)

// along returns the metric with scale sqrt(value/rest) along the columns of q in a basis, for the rank
// columns whose scale differs most from 1.
func (m *Metric) along(basis []float32, values []float64, q *mat.Dense, rest float64, rank int) *Metric {
	d := len(m.Centre)
	order := make([]int, 0, len(values))
	for i, v := range values {
		if v > 1e-9*rest { // a row of the basis may be zero
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(math.Log(values[b]/rest)), math.Abs(math.Log(values[a]/rest)))
	})
	order = order[:min(rank, len(order))]
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) }) // growing last
	var vectors, scales []float32
	for _, i := range order {
		row := make([]float32, d)
		for j := range len(values) {
			kernel.Axpy(float32(q.At(j, i)), basis[j*d:j*d+d], row)
		}
		vector.Unit(row, row)
		vectors, scales = append(vectors, row...), append(scales, float32(math.Sqrt(values[i]/rest)))
	}
	return Of(m.Centre, vectors, scales)
}

// mapped replaces a symmetric d x d matrix a by P a P, P the linear part of m.
func mapped(a []float32, m *Map, d int) {
	scratch := make([]float32, d*len(m.Scales))
	for range 2 { // rows, then the rows of the transpose
		m.Shrink(a, scratch)
		for i := range d {
			for j := range i {
				a[i*d+j], a[j*d+i] = a[j*d+i], a[i*d+j]
			}
		}
	}
}
