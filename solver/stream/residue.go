package stream

import (
	"bytes"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// residue is what a stream keeps of a metric.Scatter: the mean of all z, and the residuals of its points as correlations in
// a byte each, beside the scale of each dimension. A quarter of the size of the matrix's half; the rounding is a few times
// smaller than what so few residuals leave open. It is never changed: clones share it.
type residue struct {
	count          float64
	sum            []float64
	freedom, trace float64
	scales         []float32 // of each dimension: the root of its sum of squares; nil: no residuals yet
	codes          []byte    // above the diagonal, row by row

	pending        []float32 // residual rows that are not in it yet, so that small episodes do not pay for the whole matrix
	pendingFreedom float64
}

// pendingMost is how many residual rows wait at most.
const pendingMost = 64

// known bounds the degrees of freedom of the residuals from above.
func (r *residue) known() float64 { return r.freedom + r.pendingFreedom }

// with returns the residue after a solved episode: its z, and where they count, its residuals.
func (r *residue) with(p *problem, solved *solver.Result, residuals bool) *residue {
	next := residue{sum: make([]float64, p.D)}
	if r != nil {
		next = *r
		next.sum = slices.Clone(r.sum)
	}
	mean := metric.Scatter{Dimension: p.D, Count: next.count, Sum: next.sum}
	mean.Observe(solved.Z)
	next.count = mean.Count
	if most := freedomKept * float64(p.D); next.count > most {
		for i := range next.sum {
			next.sum[i] *= most / next.count
		}
		next.count = most
	}
	if residuals {
		w := workspace(p.D)
		defer workspaces.Put(w)
		rows, freedom := w.PointResiduals(solved.Z, solved.S, p.K)
		if len(next.pending)+len(rows) < pendingMost*p.D {
			round(rows, pendingScale)
			next.pending = append(slices.Clip(next.pending), rows...)
			next.pendingFreedom += freedom
			return &next
		}
		next.unpack(w)
		w.Points.Add(rows, p.D, freedom)
		w.Points.Fade(freedomKept * float64(p.D))
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

// unpack fills a scatter.
func (r *residue) unpack(w *metric.Scatter) {
	w.Reset()
	w.Count = r.count
	copy(w.Sum, r.sum)
	d := len(r.sum)
	if len(r.pending) > 0 {
		defer func() { w.Points.Add(r.pending, d, r.pendingFreedom) }()
	}
	if r.scales == nil {
		return
	}
	w.Points.Freedom, w.Points.Trace = r.freedom, r.trace
	if w.Points.Values == nil {
		w.Points.Values = make([]float32, d*d)
	}
	codes := r.codes
	for i, scale := range r.scales {
		row := w.Points.Values[i*d+i : i*d+d]
		row[0] = scale * scale
		others := r.scales[i+1:]
		for j, code := range codes[:len(others)] {
			row[j+1] = decoded[code] * scale * others[j]
		}
		codes = codes[len(others):]
	}
}

// pack takes residuals in place of those it held.
func (r *residue) pack(points *metric.Residuals) {
	d := len(r.sum)
	r.freedom, r.trace = points.Freedom, points.Trace
	r.pending, r.pendingFreedom = nil, 0
	r.scales, r.codes = make([]float32, d), make([]byte, 0, d*(d-1)/2)
	inverse, row := make([]float32, d), make([]float32, d)
	for i := range d {
		r.scales[i] = float32(math.Sqrt(max(0, float64(points.Values[i*d+i]))))
		if r.scales[i] > 0 {
			inverse[i] = 1 / r.scales[i]
		}
	}
	for i, scale := range inverse {
		values, others := points.Values[i*d+i+1:i*d+d], inverse[i+1:]
		row = row[:len(values)]
		for j, v := range values {
			row[j] = v * scale * others[j]
		}
		kernel.ThreeQuarterPower(row, row)
		codes := r.codes[len(r.codes) : len(r.codes)+len(row)]
		for j, v := range row { // rounded to the nearest without a branch, which would be taken at random
			codes[j] = byte(max(-codeMost, min(codeMost, int32(v*codeMost+(codeMost+1.5))-(codeMost+1))))
		}
		r.codes = r.codes[:len(r.codes)+len(row)]
	}
}

// Values of vectors that are at most so long are kept in 16 bits.
const (
	unitScale    = 1 // of unit vectors
	pendingScale = 2 // of the difference of a unit vector and a mean of some
	mostCode     = 1<<15 - 1
)

func toCode(v, scale float32) int16 {
	return int16(math.RoundToEven(float64(max(-1, min(1, v/scale)) * mostCode)))
}

func ofCode(code int16, scale float32) float32 { return float32(code) / mostCode * scale }

// round leaves values as they are kept: a stream that is restored answers as if it had never stopped.
func round(values []float32, scale float32) {
	for i, v := range values {
		values[i] = ofCode(toCode(v, scale), scale)
	}
}

func (r *residue) encode(w *writer) {
	w.float(fieldCount, r.count)
	w.doubles(fieldSum, r.sum)
	w.float(fieldFreedom, r.freedom)
	w.float(fieldTrace, r.trace)
	if r.scales != nil {
		w.vector(fieldScales, r.scales)
		w.bytes(fieldCodes, r.codes)
	}
	if len(r.pending) > 0 {
		w.short(fieldPending, r.pending, pendingScale)
		w.float(fieldPendingFreedom, r.pendingFreedom)
	}
}

func (r *residue) decode(f *field) {
	switch f.number {
	case fieldCount:
		r.count = f.float()
	case fieldSum:
		r.sum = f.doubles(f.dimension)
	case fieldFreedom:
		r.freedom = f.float()
	case fieldTrace:
		r.trace = f.float()
	case fieldScales:
		r.scales = f.vector(f.dimension)
	case fieldCodes:
		r.codes = bytes.Clone(f.value)
	case fieldPending:
		r.pending = f.short(pendingScale)
	case fieldPendingFreedom:
		r.pendingFreedom = f.float()
	case 0:
		if r.scales == nil {
			r.freedom, r.trace = 0, 0
		}
		if len(r.sum) != f.dimension || !(r.count >= 0) || !(r.freedom >= 0) || !(r.trace >= 0) || !(r.pendingFreedom >= 0) ||
			len(r.codes) != len(r.scales)*(len(r.scales)-1)/2 || f.dimension == 0 || len(r.pending)%f.dimension != 0 {
			f.fail("scatter")
		}
	}
}
