package metric

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Scatter learns a Metric from solved episodes in z-space: how points of one class lie around their mean. It
// is plain data beside its workspace. Labelled residuals teach better; residuals of all points are used while
// those are few.
type Scatter struct {
	Dimension int

	Count float64   // rows seen
	Sum   []float64 // their sum: m2, the centre of the metric, is Sum/Count

	Labelled Residuals // labelled items from the mean of their class
	Between  Means     // class means from the mean of their episode; filled by AddMeans alone
	Points   Residuals // all points from the S-weighted means of their own episode

	rows, full, mean, mass, ones []float32 // workspace
	shrink                       float64   // of the last Refresh
}

// NewScatter returns a Scatter for rows of dimension d.
func NewScatter(d int) *Scatter {
	return &Scatter{Dimension: d, Sum: make([]float64, d)}
}

// Observe adds rows to the mean of all z, the centre of the next metric.
func (s *Scatter) Observe(z []float32) {
	d := s.Dimension
	n := len(z) / d
	s.ones = vector.Resize(s.ones, n)
	for i := range s.ones {
		s.ones[i] = 1
	}
	s.mean = vector.Zeroed(s.mean, d)
	kernel.Accumulate(s.mean, s.ones, z, n, 1, d)
	for i, v := range s.mean {
		s.Sum[i] += float64(v)
	}
	s.Count += float64(n)
}

// AddLabelled adds the residuals of labelled z-rows from the mean of their class. Rows with a label below
// 0 are skipped.
func (s *Scatter) AddLabelled(z []float32, labels []int32, k int) {
	rows, freedom := s.labelledResiduals(z, labels, k)
	s.Labelled.Add(rows, s.Dimension, freedom)
}

// labelledResiduals returns the rows that AddLabelled adds, and their degrees of freedom. The rows are valid
// until the next call.
func (s *Scatter) labelledResiduals(z []float32, labels []int32, k int) (rows []float32, freedom float64) {
	d := s.Dimension
	s.mean, s.mass = vector.Zeroed(s.mean, k*d), vector.Zeroed(s.mass, k)
	for i, y := range labels {
		if y >= 0 {
			s.mass[y]++
			kernel.Axpy(1, z[i*d:i*d+d], s.mean[int(y)*d:int(y)*d+d])
		}
	}
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
	return s.rows, freedom
}

// AddPoints adds the residuals of an episode's z-rows from its own S-weighted class means: z - sum_k s_pk
// mean_k, with n - sum_k min(1, mass_k) degrees of freedom. soft is S, k values a row. Nothing is added once
// the labelled residuals suffice.
func (s *Scatter) AddPoints(z, soft []float32, k int) {
	if s.wantsPoints() {
		rows, freedom := s.PointResiduals(z, soft, k)
		s.Points.Add(rows, s.Dimension, freedom)
	}
}

// PointResiduals returns the rows that AddPoints adds, and their degrees of freedom. The rows are valid until
// the next call.
func (s *Scatter) PointResiduals(z, soft []float32, k int) ([]float32, float64) {
	d := s.Dimension
	n := len(z) / d
	s.weigh(z, soft, k)
	freedom := float64(n)
	for _, m := range s.mass {
		freedom -= min(1, float64(m))
	}
	freedom = max(0, freedom)          // the values of a row sum to 1 up to rounding
	less := vector.Resize(s.ones, k*n) // -S, a column for each point
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

// leastMass is the mass below which a class has no mean: no point depends on it, and the inverse of a smaller
// one may overflow float32.
const leastMass = 1e-30

// weigh fills in the S-weighted mean and the mass of each class of an episode.
func (s *Scatter) weigh(z, soft []float32, k int) {
	d := s.Dimension
	n := len(z) / d
	s.mean, s.mass = vector.Zeroed(s.mean, k*d), vector.Zeroed(s.mass, k)
	kernel.Accumulate(s.mean, soft, z, n, k, d)
	for p := range n {
		kernel.Axpy(1, soft[p*k:p*k+k], s.mass)
	}
	for c, m := range s.mass {
		if m > leastMass {
			kernel.Scale(1/m, s.mean[c*d:c*d+d])
		}
	}
}

// Episode is a solved episode to learn from, in z-space.
type Episode struct {
	Z      []float32 // N x d
	S      []float32 // N x K, each row summing to 1
	Labels []int32   // N: the class of a labelled row, below 0 for others; nil: none is labelled
	K      int
}

// Update learns from an independent episode, such as a task: its labelled rows, all its points, its mean. A
// stream, whose labelled rows recur in each episode, calls AddLabelled, AddPoints and Observe itself, each
// item once.
func (s *Scatter) Update(e Episode) {
	s.Observe(e.Z)
	s.AddLabelled(e.Z, e.Labels, e.K)
	s.AddPoints(e.Z, e.S, e.K)
}

func (s *Scatter) wantsPoints() bool { return Few(s.Labelled.Freedom, s.Dimension) }

// Few says whether so many degrees of freedom of labelled items are too few for a metric: the residuals of
// all points stand in.
func Few(freedom float64, d int) bool { return freedom < .4*float64(d) }

// Freedom returns the degrees of freedom of the next metric.
func (s *Scatter) Freedom() float64 {
	f := s.Labelled.Freedom
	if s.wantsPoints() {
		f += s.Points.Freedom
	}
	return f
}

// Determined says whether so many degrees of freedom determine a metric: a fifth of the dimension.
func Determined(freedom float64, d int) bool { return freedom >= .2*float64(d) }

// Refresh returns the metric of the residuals so far: the top rank eigenpairs (w, V) of C = scatter/freedom,
// each with scale sqrt(shrink t / ((1-shrink) w + shrink t)), t = trace(C)/d. It is nil below d/5 degrees of
// freedom; with so few, a scatter shrunk to a sphere as far as by default does no harm.
func (s *Scatter) Refresh(rank int, shrink float64) (*Metric, error) {
	d := s.Dimension
	freedom := s.Freedom()
	if !Determined(freedom, d) || s.Count == 0 {
		return nil, nil
	}
	trace := s.Labelled.Trace
	s.full = append(s.full[:0], s.Labelled.Values...)
	if freedom > s.Labelled.Freedom {
		trace += s.Points.Trace
		if len(s.full) == 0 {
			s.full = append(s.full, s.Points.Values...)
		} else {
			kernel.Axpy(1, s.Points.Values, s.full)
		}
	}
	full := s.full
	s.shrink = shrink
	kernel.Mirror(full, d)
	if !(trace > 0) {
		return nil, nil
	}
	values, vectors, err := vector.TopEigenpairs(full, d, min(rank, d))
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	return ofPairs(values, vectors, trace, freedom, shrink, s.Sum, s.Count), nil
}

// ofPairs returns the metric of the top eigenpairs of a scatter with a trace and degrees of freedom, about
// the mean of count rows.
func ofPairs(values []float64, vectors []float32, trace, freedom, shrink float64, sum []float64,
	count float64,
) *Metric {
	d := len(sum)
	t := trace / freedom / float64(d)
	centre, scales := make([]float32, d), make([]float32, 0, len(values)) // streams keep both
	for i, v := range sum {
		centre[i] = float32(v / count)
	}
	found := vectors[:0]
	for i, w := range values {
		if w /= freedom; w > 0 {
			scales = append(scales, float32(math.Sqrt(shrink*t/((1-shrink)*w+shrink*t))))
			found = append(found, vectors[i*d:i*d+d]...)
		}
	}
	return Of(centre, found, scales)
}
