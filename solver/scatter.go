package solver

import (
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Scatter learns a Metric: how points of one class lie around their mean. It is fed solved episodes in z-space and is
// plain data beside its workspace. Labelled residuals are the better teacher; residuals of all points stand in while those
// are few.
type Scatter struct {
	Dimension int

	Count float64   // rows seen
	Sum   []float64 // their sum: m2, the centre of the metric, is Sum/Count

	Labelled Residuals // labelled items from the mean of their class
	Points   Residuals // all points from the S-weighted means of their own episode

	rows, full, soft, mean, mass, ones []float32
	labels                             []int32
}

// Residuals is a sum of r r' over residual rows r.
type Residuals struct {
	Freedom float64   // degrees of freedom
	Trace   float64   // sum of |r|^2
	Values  []float32 // d x d, of which the upper triangle counts; nil: no residuals yet
}

// NewScatter returns a Scatter for rows of dimension d.
func NewScatter(d int) *Scatter {
	return &Scatter{Dimension: d, Sum: make([]float64, d)}
}

// Reset forgets everything seen.
func (s *Scatter) Reset() {
	clear(s.Sum)
	s.Count = 0
	for _, r := range []*Residuals{&s.Labelled, &s.Points} {
		if r.Freedom > 0 {
			clear(r.Values)
		}
		r.Freedom, r.Trace = 0, 0
	}
}

// Observe adds rows to the mean of all z, the centre of the next metric.
func (s *Scatter) Observe(z []float32) {
	d := s.Dimension
	n := len(z) / d
	s.ones = grown(s.ones, n)
	for i := range s.ones {
		s.ones[i] = 1
	}
	s.mean = cleared(s.mean, d)
	kernel.Accumulate(s.mean, s.ones, z, n, 1, d)
	for i, v := range s.mean {
		s.Sum[i] += float64(v)
	}
	s.Count += float64(n)
}

// AddLabelled adds the residuals of labelled z-rows from the mean of their class. A label below 0 is passed over.
func (s *Scatter) AddLabelled(z []float32, labels []int32, k int) {
	d := s.Dimension
	s.mean, s.mass = cleared(s.mean, k*d), cleared(s.mass, k)
	for i, y := range labels {
		if y >= 0 {
			s.mass[y]++
			kernel.Axpy(1, z[i*d:i*d+d], s.mean[int(y)*d:int(y)*d+d])
		}
	}
	freedom := 0.
	for c, n := range s.mass {
		if n > 0 {
			kernel.Scale(1/n, s.mean[c*d:c*d+d])
			freedom += float64(n) - 1
		}
	}
	s.rows = s.rows[:0]
	for i, y := range labels {
		if y >= 0 && s.mass[y] > 1 {
			s.rows = append(s.rows, z[i*d:i*d+d]...)
			kernel.Axpy(-1, s.mean[int(y)*d:int(y)*d+d], s.rows[len(s.rows)-d:])
		}
	}
	s.Labelled.Add(s.rows, d, freedom)
}

// AddPoints adds the residuals of an episode's z-rows from its own S-weighted class means: z - sum_k s_pk mean_k, with
// n - sum_k min(1, mass_k) degrees of freedom. s has k values a row. Nothing is added once the labelled ones suffice.
func (s *Scatter) AddPoints(z, soft []float32, k int) {
	if s.wantsPoints() {
		rows, freedom := s.PointResiduals(z, soft, k)
		s.Points.Add(rows, s.Dimension, freedom)
	}
}

// PointResiduals are the rows that AddPoints adds, and their degrees of freedom; the rows are valid until the next call.
func (s *Scatter) PointResiduals(z, soft []float32, k int) ([]float32, float64) {
	d := s.Dimension
	n := len(z) / d
	s.mean, s.mass = cleared(s.mean, k*d), cleared(s.mass, k)
	kernel.Accumulate(s.mean, soft, z, n, k, d)
	for p := range n {
		kernel.Axpy(1, soft[p*k:p*k+k], s.mass)
	}
	freedom := float64(n)
	for c, m := range s.mass {
		freedom -= min(1, float64(m))
		if m > 0 {
			kernel.Scale(1/m, s.mean[c*d:c*d+d])
		}
	}
	less := grown(s.ones, k*n) // -S, a column a point: what is taken of each mean
	s.ones = less
	for p := range n {
		for c, v := range soft[p*k : p*k+k] {
			less[c*n+p] = -v
		}
	}
	s.rows = append(s.rows[:0], z...)
	kernel.Accumulate(s.rows, less, s.mean, k, n, d)
	return s.rows, freedom
}

// Update learns from a solved episode of its own, such as a task: its labelled rows and anchors, all its points, its mean.
// A stream whose anchors come again each episode feeds AddLabelled, AddPoints and Observe itself, each item once.
func (s *Scatter) Update(p *Problem, r *Result) {
	z, soft := r.Z, r.S
	s.labels = s.labels[:0]
	for i := range p.N {
		y := int32(-1)
		if p.labelled(i) {
			y = p.Labels[i]
		}
		s.labels = append(s.labels, y)
	}
	if len(p.AnchorLabels) > 0 {
		z = append(append(make([]float32, 0, len(r.Z)+len(r.AnchorZ)), r.Z...), r.AnchorZ...)
		s.labels = append(s.labels, p.AnchorLabels...)
		s.soft = append(cleared(s.soft, 0), r.S...)
		for _, y := range p.AnchorLabels {
			s.soft = append(s.soft, make([]float32, p.K)...)
			s.soft[len(s.soft)-p.K+int(y)] = 1
		}
		soft = s.soft
	}
	s.Observe(z)
	s.AddLabelled(z, s.labels, p.K)
	s.AddPoints(z, soft, p.K)
}

func (s *Scatter) wantsPoints() bool { return s.Labelled.Freedom < .4*float64(s.Dimension) }

// Freedom is the degrees of freedom that the next metric would stand on.
func (s *Scatter) Freedom() float64 {
	f := s.Labelled.Freedom
	if s.wantsPoints() {
		f += s.Points.Freedom
	}
	return f
}

// Determined tells whether so many degrees of freedom determine a metric: a fifth of the dimension.
func Determined(freedom float64, d int) bool { return freedom >= .2*float64(d) }

// Refresh returns the metric of what was seen: the top rank eigenpairs (w, V) of C = scatter/freedom, each with scale
// sqrt(shrink t / ((1-shrink) w + shrink t)), t = trace(C)/d. It is nil while there are fewer than d/5 degrees of
// freedom: what is drawn to a sphere as far as the default does no harm with so few. The search for eigenpairs starts from
// those of the metric before, nil for none, and is shorter by it.
func (s *Scatter) Refresh(before *Metric, rank int, shrink float64) (*Metric, error) {
	d := s.Dimension
	freedom := s.Freedom()
	if !Determined(freedom, d) || s.Count == 0 {
		return nil, nil
	}
	s.full = cleared(s.full, d*d)
	full, trace := s.full, s.Labelled.Trace
	parts := []*Residuals{&s.Labelled}
	if freedom > s.Labelled.Freedom {
		parts = append(parts, &s.Points)
		trace += s.Points.Trace
	}
	for _, part := range parts {
		if part.Values != nil {
			kernel.Axpy(1, part.Values, full)
		}
	}
	kernel.Mirror(full, d)
	t := trace / freedom / float64(d)
	if !(t > 0) {
		return nil, nil
	}
	values, vectors, err := topEigenpairs(full, d, min(rank, d), before)
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	m := &Metric{Centre: make([]float32, d)}
	for i, v := range s.Sum {
		m.Centre[i] = float32(v / s.Count)
	}
	for i, w := range values {
		if w /= freedom; w > 0 {
			m.Scales = append(m.Scales, float32(math.Sqrt(shrink*t/((1-shrink)*w+shrink*t))))
			m.Vectors = append(m.Vectors, vectors[i*d:i*d+d]...)
		}
	}
	return m, nil
}

// Add takes residual rows of dimension d into the sum.
func (r *Residuals) Add(rows []float32, d int, freedom float64) {
	r.Freedom += freedom
	for from := 0; from < len(rows); from += d {
		r.Trace += float64(kernel.Dot(rows[from:from+d], rows[from:from+d]))
	}
	if r.Values == nil {
		r.Values = make([]float32, d*d)
	}
	kernel.AddOuter(r.Values, rows, len(rows)/d, d)
}

// Clone returns a copy that shares nothing.
func (r *Residuals) Clone() *Residuals {
	c := *r
	c.Values = append([]float32(nil), r.Values...)
	return &c
}

// Fade gives what was seen the weight of at most so many degrees of freedom, so that what comes still counts.
func (r *Residuals) Fade(most float64) {
	if r.Freedom > most {
		share := most / r.Freedom
		r.Freedom, r.Trace = most, share*r.Trace
		kernel.Scale(float32(share), r.Values)
	}
}

// topEigenpairs returns the top eigenpairs of a symmetric d x d matrix by subspace iteration: thousands of times cheaper
// than all of them, and the metric's scales do not feel an error in the lowest.
func topEigenpairs(full []float32, d, rank int, before *Metric) ([]float64, []float32, error) {
	width := min(d, rank+16)
	basis := make([]float32, width*d) // rows
	rounds, known := coldRounds, 0
	if before != nil {
		known = copy(basis, before.Vectors) / d
	}
	if known >= rank {
		rounds = warmRounds
	}
	state := uint64(1)
	for i := known * d; i < len(basis); i++ { // any start that is not orthogonal to the answer will do; this one is the same each time
		state = state*6364136223846793005 + 1442695040888963407
		basis[i] = float32(int32(state>>32)) / (1 << 31)
	}
	next := make([]float32, width*d)
	for round := range rounds {
		kernel.Products(next, basis, full, width, d, d)
		passes := 1 // the next round turns what dust is left
		if round == rounds-1 {
			passes = 2
		}
		orthonormal(basis, next, d, width, passes)
		runtime.Gosched() // whoever waits for a core need not wait for all rounds
	}
	kernel.Products(next, basis, full, width, d, d)
	small := mat.NewSymDense(width, nil)
	for i := range width {
		for j := i; j < width; j++ {
			small.SetSym(i, j, float64(kernel.Dot(basis[i*d:i*d+d], next[j*d:j*d+d])))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(small, true) {
		return nil, nil, fmt.Errorf("no eigenvectors of a scatter of dimension %d", d)
	}
	all := eigen.Values(nil)
	var q mat.Dense
	eigen.VectorsTo(&q)
	values, vectors := make([]float64, rank), make([]float32, rank*d)
	for i := range rank {
		values[i] = all[width-1-i]
		for j := range width {
			kernel.Axpy(float32(q.At(j, width-1-i)), basis[j*d:j*d+d], vectors[i*d:i*d+d])
		}
	}
	return values, vectors, nil
}

// A start at random has to turn to the answer; the metric before lies near it.
const (
	coldRounds = 12
	warmRounds = 4
)

// orthonormal fills basis with an orthonormal basis of the span of rows, zero rows where they depend on one another. One pass
// leaves float32 dust, two do not.
func orthonormal(basis, rows []float32, d, width, passes int) {
	for j := range width {
		row := basis[j*d : j*d+d]
		copy(row, rows[j*d:j*d+d])
		unit(row)
		for range passes {
			for i := range j {
				kernel.Axpy(-kernel.Dot(row, basis[i*d:i*d+d]), basis[i*d:i*d+d], row)
			}
			if kernel.Dot(row, row) < 1e-10 {
				clear(row)
			}
			unit(row)
		}
	}
}
