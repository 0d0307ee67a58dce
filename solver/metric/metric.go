// Package metric learns a distance. Solved episodes show how points of one class spread around their mean;
// along these directions distance says little about the class. The package knows nothing of episodes beyond
// their rows and answers.
package metric

import (
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Metric maps a z-row to u-space: v = z - Centre, u = L2(v + V((Scales-1) * V'v)). It shrinks the directions
// in which one class spreads and, where it has learned how classes differ, grows those in which they do. It
// is immutable: streams and episodes share it.
type Metric struct {
	Centre  []float32 // d
	Inverse float32   // the centre in z-space is Centre less Inverse times the embedding's mean
	Vectors []float32 // V': len(Scales) orthonormal rows of dimension d
	Scales  []float32 // those that shrink, up to 1, before those that grow
}

// Check reports the first fault of a metric for rows of dimension d: a wrong size, or a value that
// is not finite.
func (m *Metric) Check(d int) error {
	if len(m.Centre) != d || len(m.Vectors) != len(m.Scales)*d {
		return fmt.Errorf("metric: centre of dimension %d, %d vector values and %d scales, not of dimension %d",
			len(m.Centre), len(m.Vectors), len(m.Scales), d)
	}
	for _, x := range [][]float32{m.Centre, {m.Inverse}, m.Vectors, m.Scales} {
		if i := vector.NotFinite(x); i >= 0 {
			return fmt.Errorf("metric: value %g at %d is not finite", x[i], i)
		}
	}
	return nil
}

// About returns the metric with its centre in the z-space of an embedding's mean; nil for a nil metric.
func (m *Metric) About(mean []float32) *Metric {
	if m == nil || m.Inverse == 0 {
		return m
	}
	out := &Metric{Centre: slices.Clone(m.Centre), Vectors: m.Vectors, Scales: m.Scales}
	kernel.Axpy(-m.Inverse, mean, out.Centre)
	return out
}

// ScratchRows is how many rows Apply maps at once.
const ScratchRows = 64

// Apply maps z-rows to u-space in place. A row at the centre becomes zero. scratch should hold ScratchRows x
// len(Scales) values; if it holds fewer, Apply allocates.
func (m *Metric) Apply(rows, scratch []float32) {
	d := len(m.Centre)
	scratch = vector.Resize(scratch, min(ScratchRows, len(rows)/d)*len(m.Scales))
	for from := 0; from < len(rows); from += ScratchRows * d {
		some := rows[from:min(from+ScratchRows*d, len(rows))]
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
func (m *Metric) Shrink(rows, scratch []float32) {
	d, r := len(m.Centre), len(m.Scales)
	n := len(rows) / d
	scratch = vector.Resize(scratch, r*n)
	kernel.Products(scratch, m.Vectors, rows, r, n, d)
	for j, s := range m.Scales {
		kernel.Scale(s-1, scratch[j*n:j*n+n])
	}
	kernel.Accumulate(rows, scratch, m.Vectors, r, n, d)
}
