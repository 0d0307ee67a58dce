package metric

import (
	"math"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Compact is the part of a Scatter that a stream keeps between episodes: the mean of all z, and the residuals
// of its points as correlations of one byte each, with the scale of each dimension. It takes a quarter of the
// memory of half the matrix; its rounding is a few times smaller than the uncertainty of so few residuals. It
// is immutable; nil has seen nothing.
type Compact struct {
	Count          float64
	Sum            []float64 // of rows times 1/|row - mu|, before mu is subtracted: mu moves with the labels
	Inverse        float64   // the sum of those factors: the sum of z is Sum - Inverse mu
	Freedom, Trace float64
	Scales         []float32 // of each dimension: the root of its sum of squares; nil: no residuals yet
	Codes          []byte    // above the diagonal, row by row

	// Residual rows that are not in the matrix yet, so that small episodes need not unpack it: codes of
	// vector.Short at PendingScale.
	Pending        []int16
	PendingFreedom float64
}

// freedomKept bounds the degrees of freedom for each dimension that past residuals count for. With as many,
// the noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// Vectors that are at most so long are stored with 16 bits a value.
const (
	UnitScale    = 1 // of unit vectors
	PendingScale = 2 // of the difference of a unit vector and a mean of unit vectors
)

// pendingMost bounds the residual rows that are pending.
const pendingMost = 64

// Known returns an upper bound of the degrees of freedom of the residuals.
func (r *Compact) Known() float64 { return r.Freedom + r.PendingFreedom }

// Rows are the rows of a solved episode in z-space, with mu, 1/|row - mu| of each, and their S of K classes.
type Rows struct {
	Z, Mean, Inverse, S []float32
	K                   int
}

// With returns r with a solved episode added: its rows to the mean, and with residuals their residuals.
// episode is its number and seeds the rounding. r may be nil.
func (r *Compact) With(episode int64, of Rows, residuals bool) *Compact {
	d := len(of.Mean)
	next := Compact{Sum: make([]float64, d)}
	if r != nil {
		next = *r
		next.Sum = slices.Clone(r.Sum)
	}
	mean := Scatter{Dimension: d, Count: next.Count, Sum: next.Sum}
	mean.Observe(of.Z)
	next.Count = mean.Count
	inverse := 0.
	for _, v := range of.Inverse {
		inverse += float64(v)
	}
	next.Inverse += inverse
	for i, v := range of.Mean {
		next.Sum[i] += inverse * float64(v)
	}
	if most := freedomKept * float64(d); next.Count > most {
		for i := range next.Sum {
			next.Sum[i] *= most / next.Count
		}
		next.Inverse *= most / next.Count
		next.Count = most
	}
	if residuals {
		w := workspace(d)
		defer workspaces.Put(w)
		rows, freedom := w.PointResiduals(of.Z, of.S, of.K)
		if len(next.Pending)+len(rows) < pendingMost*d {
			next.Pending = vector.Shorts(next.Pending, rows, PendingScale)
			next.PendingFreedom += freedom
			return &next
		}
		next.unpack(w)
		w.Points.Add(rows, d, freedom)
		w.Points.Fade(freedomKept * float64(d))
		next.pack(&w.Points, episode)
	}
	return &next
}

// leastScale is the scale up to which a dimension has no correlations: squares of tiny scales lose
// digits in float32.
const leastScale = 1e-17

// dithers are ditherCycle evenly spaced numbers between -.5 and .5 in random order, twice. Rounding with a
// cycle of them added is right on average.
var dithers = func() (table [2 * ditherCycle]float32) {
	random := uint64(1)
	for i := range ditherCycle {
		random = random*6364136223846793005 + 1442695040888963407
		j := int(random>>33) % (i + 1)
		table[i], table[j] = table[j], (float32(i)+.5)/ditherCycle-.5
	}
	copy(table[ditherCycle:], table[:ditherCycle])
	return table
}()

const ditherCycle = 1 << 12

// unpack fills a scatter's mean and point residuals; the rest of it stays.
func (r *Compact) unpack(w *Scatter) {
	w.Count = r.Count
	copy(w.Sum, r.Sum)
	d := len(r.Sum)
	if len(r.Pending) > 0 {
		defer func() {
			w.full = vector.Resize(w.full, len(r.Pending))
			vector.Longs(w.full, r.Pending, PendingScale)
			w.Points.Add(w.full, d, r.PendingFreedom)
		}()
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
		kernel.FromCodes(values, codes, scale, r.Scales[i+1:])
		codes = codes[len(values):]
	}
}

// pack replaces the residuals of r. Rounding is dithered by the episode and the row: an episode changes most
// values by less than half a step, and plain rounding would never follow a slow drift.
func (r *Compact) pack(points *Residuals, episode int64) {
	d := len(r.Sum)
	r.Freedom, r.Trace = points.Freedom, points.Trace
	r.Pending, r.PendingFreedom = nil, 0
	r.Scales, r.Codes = make([]float32, d), make([]byte, d*(d-1)/2)
	random := uint64(episode)*0x9e3779b97f4a7c15 | 1
	inverse, left := make([]float32, d), r.Codes
	for i := range d {
		r.Scales[i] = float32(math.Sqrt(max(0, float64(points.Values[i*d+i]))))
		if r.Scales[i] > leastScale {
			inverse[i] = 1 / r.Scales[i]
		}
	}
	for i, scale := range inverse {
		random = random*6364136223846793005 + 1442695040888963407
		dither := dithers[random>>(64-12):]
		for from := i + 1; from < d; from += ditherCycle {
			n := min(d-from, ditherCycle)
			kernel.ToCodes(left[:n], points.Values[i*d+from:], scale, inverse[from:], dither)
			left = left[n:]
		}
	}
}

// workspaces are scatters at full precision, used while residuals are added or a metric is made. They
// still hold the values of their last use.
var workspaces sync.Pool

// WorkspaceBytes returns the memory that learning from an episode takes at a dimension, beside what a stream
// keeps: labelled residuals, those of all points, their sum, and the new codes.
func WorkspaceBytes(d int) int { return (3*4 + 1) * d * d }

func workspace(d int) *Scatter {
	if w, ok := workspaces.Get().(*Scatter); ok && w.Dimension == d {
		return w
	}
	return NewScatter(d)
}
