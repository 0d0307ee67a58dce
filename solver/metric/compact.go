package metric

import (
	"math"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Compact is what a stream keeps of a Scatter from episode to episode: the mean of all z, and the residuals of its points as
// correlations in a byte each, beside the scale of each dimension. A quarter of the size of the matrix's half; the rounding
// is a few times smaller than what so few residuals leave open. It is never changed; nil has seen nothing.
type Compact struct {
	Count          float64
	Sum            []float64
	Freedom, Trace float64
	Scales         []float32 // of each dimension: the root of its sum of squares; nil: no residuals yet
	Codes          []byte    // above the diagonal, row by row

	Pending        []float32 // residual rows that are not in it yet, so that small episodes do not pay for the whole matrix
	PendingFreedom float64
}

// freedomKept is how many degrees of freedom a dimension the residuals of the past count for at most: with as many, the
// noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// Values of vectors that are at most so long are kept in 16 bits.
const (
	UnitScale    = 1 // of unit vectors
	PendingScale = 2 // of the difference of a unit vector and a mean of some
)

// pendingMost is how many residual rows wait at most.
const pendingMost = 64

// Known bounds the degrees of freedom of the residuals from above.
func (r *Compact) Known() float64 { return r.Freedom + r.PendingFreedom }

// With returns what is seen after a solved episode of z-rows with their S of k classes: their mean, and where they count, their
// residuals.
func (r *Compact) With(z, soft []float32, k, d int, residuals bool) *Compact {
	next := Compact{Sum: make([]float64, d)}
	if r != nil {
		next = *r
		next.Sum = slices.Clone(r.Sum)
	}
	mean := Scatter{Dimension: d, Count: next.Count, Sum: next.Sum}
	mean.Observe(z)
	next.Count = mean.Count
	if most := freedomKept * float64(d); next.Count > most {
		for i := range next.Sum {
			next.Sum[i] *= most / next.Count
		}
		next.Count = most
	}
	if residuals {
		w := workspace(d)
		defer workspaces.Put(w)
		rows, freedom := w.PointResiduals(z, soft, k)
		if len(next.Pending)+len(rows) < pendingMost*d {
			vector.Rounded(rows, PendingScale)
			next.Pending = append(slices.Clip(next.Pending), rows...)
			next.PendingFreedom += freedom
			return &next
		}
		next.unpack(w)
		w.Points.Add(rows, d, freedom)
		w.Points.Fade(freedomKept * float64(d))
		next.pack(&w.Points)
	}
	return &next
}

// A code is 127 sign(r) |r|^.75 of a correlation r: finer where most of them lie.
const codeMost = 127

var decoded = func() (table [256]float32) {
	for code := range table {
		v := float64(int8(code)) / codeMost
		table[code] = float32(math.Copysign(math.Pow(math.Abs(v), 4./3), v))
	}
	return table
}()

// leastScale is below every scale of which a float32's square has all its digits: of smaller ones no
// correlation is known.
const leastScale = 1e-17

// rounded is the code of a power of a correlation, which is at most 1 but for rounding. Added to so large a
// number, a float32 keeps whole numbers only, and the last byte of its bits is the code.
func rounded(v float32) byte {
	const large = 3 << 22
	return byte(math.Float32bits(float32(v*codeMost) + large))
}

// unpack fills a scatter's mean and point residuals; what else is in it stays.
func (r *Compact) unpack(w *Scatter) {
	w.Count = r.Count
	copy(w.Sum, r.Sum)
	d := len(r.Sum)
	if len(r.Pending) > 0 {
		defer func() { w.Points.Add(r.Pending, d, r.PendingFreedom) }()
	}
	if r.Scales == nil {
		w.Points.reset()
		return
	}
	w.Points.Freedom, w.Points.Trace = r.Freedom, r.Trace
	if w.Points.Values == nil {
		w.Points.Values = make([]float32, d*d)
	}
	codes := r.Codes
	for i, scale := range r.Scales {
		w.Points.Values[i*d+i] = scale * scale
		values := w.Points.Values[i*d+i+1 : i*d+d]
		some, others := codes[:len(values)], r.Scales[i+1:][:len(values)]
		for j := range values {
			values[j] = decoded[some[j]] * scale * others[j]
		}
		codes = codes[len(values):]
	}
}

// pack takes residuals in place of those it held.
func (r *Compact) pack(points *Residuals) {
	d := len(r.Sum)
	r.Freedom, r.Trace = points.Freedom, points.Trace
	r.Pending, r.PendingFreedom = nil, 0
	r.Scales, r.Codes = make([]float32, d), make([]byte, 0, d*(d-1)/2)
	inverse, row := make([]float32, d), make([]float32, d)
	for i := range d {
		r.Scales[i] = float32(math.Sqrt(max(0, float64(points.Values[i*d+i]))))
		if r.Scales[i] > leastScale {
			inverse[i] = 1 / r.Scales[i]
		}
	}
	for i, scale := range inverse {
		values := points.Values[i*d+i+1 : i*d+d]
		row, others := row[:len(values)], inverse[i+1:][:len(values)]
		for j := range row {
			row[j] = values[j] * scale * others[j]
		}
		kernel.ThreeQuarterPower(row, row)
		codes := r.Codes[len(r.Codes):][:len(row)]
		for j, v := range row {
			codes[j] = rounded(v)
		}
		r.Codes = r.Codes[:len(r.Codes)+len(row)]
	}
}

// workspaces are scatters at full precision, for the moment in which one is added to or a metric made of it. What is in them
// is left from the last time.
var workspaces sync.Pool

func workspace(d int) *Scatter {
	if w, ok := workspaces.Get().(*Scatter); ok && w.Dimension == d {
		return w
	}
	return NewScatter(d)
}
