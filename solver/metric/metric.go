// Package metric learns a distance. Solved episodes show how points of one class spread around their mean;
// along these directions distance says little about the class. The package knows nothing of episodes beyond
// their rows and answers.
package metric

import (
	"fmt"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Metric is a learned distance in a form that takes little memory: ten thousand streams keep one each. About
// gives the map. It is immutable: streams and episodes share it.
type Metric struct {
	Centre  []float32 // d
	Inverse float32   // the centre in z-space is Centre less Inverse times the embedding's mean
	Units   []int16   // vector.Shorts at scale 1 of V': len(Scales) orthonormal rows of dimension d
	Scales  []float32 // those that shrink, up to 1, before those that grow
}

// Of returns the metric of orthonormal rows of dimension d and their scales, about a centre that no mean
// moves.
func Of(centre, vectors, scales []float32) *Metric {
	return &Metric{Centre: centre, Units: vector.Shorts(nil, vectors, 1), Scales: scales}
}

// Check reports the first fault of a metric for rows of dimension d: a wrong size, or a value that
// is not finite.
func (m *Metric) Check(d int) error {
	if len(m.Centre) != d || len(m.Units) != len(m.Scales)*d {
		return fmt.Errorf("metric: centre of dimension %d, %d vector values and %d scales, not of dimension %d",
			len(m.Centre), len(m.Units), len(m.Scales), d)
	}
	for _, x := range [][]float32{m.Centre, {m.Inverse}, m.Scales} {
		if i := vector.NotFinite(x); i >= 0 {
			return fmt.Errorf("metric: value %g at %d is not finite", x[i], i)
		}
	}
	return nil
}

// About fills in the map with its centre in the z-space of an embedding's mean; nil: the mean is zero.
func (m *Metric) About(mean []float32, into *Map) {
	into.Centre = append(into.Centre[:0], m.Centre...)
	if mean != nil {
		kernel.Axpy(-m.Inverse, mean, into.Centre)
	}
	into.Vectors = vector.Resize(into.Vectors, len(m.Units))
	vector.Longs(into.Vectors, m.Units, 1)
	into.Scales = m.Scales
}

// Map maps a z-row to u-space: v = z - Centre, u = L2(v + V((Scales-1) * V'v)). It shrinks the directions in
// which one class spreads and, where it has learned how classes differ, grows those in which they do.
type Map struct {
	Centre  []float32 // d
	Vectors []float32 // V': len(Scales) orthonormal rows of dimension d
	Scales  []float32
}

// scratchRows is how many rows Apply maps at once.
const scratchRows = 64

// Apply maps z-rows to u-space in place. A row at the centre becomes zero. scratch should hold scratchRows x
// len(Scales) values; if it holds fewer, Apply allocates.
func (m *Map) Apply(rows, scratch []float32) {
	d := len(m.Centre)
	scratch = vector.Resize(scratch, min(scratchRows, len(rows)/d)*len(m.Scales))
	for from := 0; from < len(rows); from += scratchRows * d {
		some := rows[from:min(from+scratchRows*d, len(rows))]
		for at := 0; at < len(some); at += d {
			kernel.Axpy(-1, m.Centre, some[at:at+d])
		}
		m.Shrink(some, scratch)
		for at := 0; at < len(some); at += d {
			vector.Unit(some[at:at+d], some[at:at+d])
		}
	}
}

// Shrink is the linear part of Apply, in place: v + V((Scales-1) * V'v) of each row v. scratch should hold
// len(Scales) values a row; if it holds fewer, Shrink allocates.
func (m *Map) Shrink(rows, scratch []float32) {
	d, r := len(m.Centre), len(m.Scales)
	n := len(rows) / d
	scratch = vector.Resize(scratch, r*n)
	kernel.Products(scratch, m.Vectors, rows, r, n, d)
	for j, s := range m.Scales {
		kernel.Scale(s-1, scratch[j*n:j*n+n])
	}
	kernel.Accumulate(rows, scratch, m.Vectors, r, n, d)
}
