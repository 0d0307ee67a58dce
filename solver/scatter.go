package solver

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"slkstream/internal/kernel"
)

// Scatter learns a Metric: how points of one class lie around their mean. It is fed solved episodes in z-space and is
// plain data, so that a stream's state can hold it. Labelled residuals are the better teacher; residuals of all points
// stand in while those are few.
type Scatter struct {
	Dimension int
	Rank      int // 0: the full scatter, d x d; else a sketch of 2 Rank rows of dimension d

	Count float64   // rows seen
	Sum   []float64 // their sum: m2, the centre of the metric, is Sum/Count

	Labelled Residuals // labelled items from the mean of their class
	Points   Residuals // all points from the S-weighted means of their own episode
}

// Residuals is a sum of r r' over residual rows r: the whole matrix, or a deterministic sketch of its principal rows beside
// its exact trace.
type Residuals struct {
	Freedom float64 // degrees of freedom
	Trace   float64
	Filled  int       // rows of a sketch in use
	Values  []float32 // d x d, or 2 Rank x d
}

// NewScatter returns a Scatter for rows of dimension d; rank 0 keeps the full matrix.
func NewScatter(d, rank int) *Scatter {
	return &Scatter{Dimension: d, Rank: rank, Sum: make([]float64, d)}
}

// Clone returns a copy that shares nothing.
func (s *Scatter) Clone() *Scatter {
	c := *s
	c.Sum = append([]float64(nil), s.Sum...)
	c.Labelled.Values = append([]float32(nil), s.Labelled.Values...)
	c.Points.Values = append([]float32(nil), s.Points.Values...)
	return &c
}

// Observe adds rows to the mean of all z, the centre of the next metric.
func (s *Scatter) Observe(z []float32) {
	d := s.Dimension
	for from := 0; from < len(z); from += d {
		for i, v := range z[from : from+d] {
			s.Sum[i] += float64(v)
		}
		s.Count++
	}
}

// AddLabelled adds the residuals of labelled z-rows from the mean of their class. A label below 0 is passed over.
func (s *Scatter) AddLabelled(z []float32, labels []int32, k int) {
	d := s.Dimension
	mean, count := make([]float32, k*d), make([]float32, k)
	for i, y := range labels {
		if y >= 0 {
			count[y]++
			kernel.Axpy(1, z[i*d:i*d+d], mean[int(y)*d:int(y)*d+d])
		}
	}
	freedom := 0.
	for c, n := range count {
		if n > 0 {
			kernel.Scale(1/n, mean[c*d:c*d+d])
			freedom += float64(n) - 1
		}
	}
	var residuals []float32
	for i, y := range labels {
		if y >= 0 && count[y] > 1 {
			residuals = append(residuals, z[i*d:i*d+d]...)
			kernel.Axpy(-1, mean[int(y)*d:int(y)*d+d], residuals[len(residuals)-d:])
		}
	}
	s.Labelled.add(residuals, d, s.Rank, freedom)
}

// AddPoints adds the residuals of an episode's z-rows from its own S-weighted class means: z - sum_k s_pk mean_k, with
// n - sum_k min(1, mass_k) degrees of freedom. s has k values a row. Nothing is added once the labelled ones suffice.
func (s *Scatter) AddPoints(z, soft []float32, k int) {
	if !s.wantsPoints() {
		return
	}
	d := s.Dimension
	n := len(z) / d
	mean, mass := make([]float32, k*d), make([]float32, k)
	for p := range n {
		for c, v := range soft[p*k : p*k+k] {
			if v > 0 {
				mass[c] += v
				kernel.Axpy(v, z[p*d:p*d+d], mean[c*d:c*d+d])
			}
		}
	}
	freedom := float64(n)
	for c, m := range mass {
		freedom -= min(1, float64(m))
		if m > 0 {
			kernel.Scale(1/m, mean[c*d:c*d+d])
		}
	}
	residuals := append([]float32(nil), z...)
	for p := range n {
		for c, v := range soft[p*k : p*k+k] {
			if v > 0 {
				kernel.Axpy(-v, mean[c*d:c*d+d], residuals[p*d:p*d+d])
			}
		}
	}
	s.Points.add(residuals, d, s.Rank, freedom)
}

// Update learns from a solved episode of its own, such as a task: its labelled rows and anchors, all its points, its mean.
// A stream whose anchors come again each episode feeds AddLabelled, AddPoints and Observe itself, each item once.
func (s *Scatter) Update(p *Problem, r *Result) {
	z := append(append([]float32(nil), r.Z...), r.AnchorZ...)
	labels := make([]int32, p.N, p.N+len(p.AnchorLabels))
	for i := range labels {
		labels[i] = -1
		if p.labelled(i) {
			labels[i] = p.Labels[i]
		}
	}
	labels = append(labels, p.AnchorLabels...)
	soft := append([]float32(nil), r.S...)
	for _, y := range p.AnchorLabels {
		soft = append(soft, make([]float32, p.K)...)
		soft[len(soft)-p.K+int(y)] = 1
	}
	s.Observe(z)
	s.AddLabelled(z, labels, p.K)
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

// Refresh returns the metric of what was seen: the top rank eigenpairs (w, V) of C = scatter/freedom, each with scale
// sqrt(shrink t / ((1-shrink) w + shrink t)), t = trace(C)/d. It is nil while there are fewer than d/5 degrees of
// freedom: what is drawn to a sphere as far as the default does no harm with so few.
func (s *Scatter) Refresh(rank int, shrink float64) (*Metric, error) {
	d := s.Dimension
	freedom := s.Freedom()
	if freedom < .2*float64(d) || s.Count == 0 {
		return nil, nil
	}
	parts := []*Residuals{&s.Labelled}
	if freedom > s.Labelled.Freedom {
		parts = append(parts, &s.Points)
	}
	var trace float64
	for _, part := range parts {
		trace += part.Trace
	}
	t := trace / freedom / float64(d)
	if !(t > 0) {
		return nil, nil
	}
	var values []float64
	var vectors []float32
	var err error
	if s.Rank == 0 {
		full := make([]float32, d*d)
		for _, part := range parts {
			if part.Values != nil {
				kernel.Axpy(1, part.Values, full)
			}
		}
		values, vectors, err = topEigenpairs(full, d, min(rank, d))
	} else {
		var rows []float32
		for _, part := range parts {
			rows = append(rows, part.Values[:part.Filled*d]...)
		}
		values, vectors, err = principalRows(rows, d, min(rank, d))
	}
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

// add takes residual rows into the sum.
func (r *Residuals) add(rows []float32, d, rank int, freedom float64) {
	r.Freedom += freedom
	for from := 0; from < len(rows); from += d {
		r.Trace += float64(kernel.Dot(rows[from:from+d], rows[from:from+d]))
	}
	if rank == 0 {
		if r.Values == nil {
			r.Values = make([]float32, d*d)
		}
		addOuter(r.Values, rows, d)
		return
	}
	if r.Values == nil {
		r.Values = make([]float32, 2*rank*d)
	}
	for len(rows) > 0 {
		n := copy(r.Values[r.Filled*d:], rows) / d
		r.Filled += n
		rows = rows[n*d:]
		if r.Filled == 2*rank {
			r.halve(d, rank)
		}
	}
}

// addOuter adds rows' rows to full.
func addOuter(full, rows []float32, d int) {
	n := len(rows) / d
	if n == 0 {
		return
	}
	turned, outer := make([]float32, d*n), make([]float32, d*d)
	const block = 16 // both sides of the turn stay in the cache
	for from := 0; from < n; from += block {
		for i := range d {
			for p := from; p < min(from+block, n); p++ {
				turned[i*n+p] = rows[p*d+i]
			}
		}
	}
	kernel.Gram(outer, turned, d, n)
	kernel.Axpy(1, outer, full)
}

// halve turns the sketch to its principal rows and keeps the first half. Frequent directions would also shorten them by the
// first that is dropped, which bounds the error from one side; measured at rank 32 that cost half a point of accuracy
// against the full scatter, where unshortened rows cost a tenth.
func (r *Residuals) halve(d, rank int) {
	values, vectors, err := principalRows(r.Values[:r.Filled*d], d, rank)
	if err != nil { // cannot happen for finite rows; keeping the first half is still a sketch
		r.Filled = rank
		return
	}
	r.Filled = len(values)
	for i, w := range values {
		row := r.Values[i*d : i*d+d]
		copy(row, vectors[i*d:i*d+d])
		kernel.Scale(float32(math.Sqrt(w)), row)
	}
}

// principalRows returns the top eigenpairs of rows' rows, from the small Gram matrix of the rows.
func principalRows(rows []float32, d, rank int) ([]float64, []float32, error) {
	n := len(rows) / d
	if n == 0 {
		return nil, nil, nil
	}
	gram := make([]float32, n*n)
	kernel.Products(gram, rows, rows, n, n, d)
	small := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			small.SetSym(i, j, float64(gram[i*n+j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(small, true) {
		return nil, nil, fmt.Errorf("no eigenvectors of %d rows", n)
	}
	all := eigen.Values(nil)
	var q mat.Dense
	eigen.VectorsTo(&q)
	var values []float64
	var vectors []float32
	for i := n - 1; i >= 0 && len(values) < rank; i-- {
		if all[i] <= 1e-7*all[n-1] {
			break
		}
		v := make([]float32, d)
		for p := range n {
			kernel.Axpy(float32(q.At(p, i)), rows[p*d:p*d+d], v)
		}
		unit(v)
		values, vectors = append(values, all[i]), append(vectors, v...)
	}
	return values, vectors, nil
}

// topEigenpairs returns the top eigenpairs of a symmetric d x d matrix by subspace iteration: thousands of times cheaper
// than all of them, and the metric's scales do not feel an error in the lowest.
func topEigenpairs(full []float32, d, rank int) ([]float64, []float32, error) {
	width := min(d, rank+16)
	basis := make([]float32, width*d) // rows
	state := uint64(1)
	for i := range basis { // any start that is not orthogonal to the answer will do; this one is the same each time
		state = state*6364136223846793005 + 1442695040888963407
		basis[i] = float32(int32(state>>32)) / (1 << 31)
	}
	next := make([]float32, width*d)
	for range 12 {
		kernel.Products(next, basis, full, width, d, d)
		orthonormal(basis, next, d, width)
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

// orthonormal fills basis with an orthonormal basis of the span of rows, zero rows where they depend on one another.
func orthonormal(basis, rows []float32, d, width int) {
	for j := range width {
		row := basis[j*d : j*d+d]
		copy(row, rows[j*d:j*d+d])
		unit(row)
		for range 2 { // once leaves float32 dust
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
