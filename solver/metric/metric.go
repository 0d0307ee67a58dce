// Package metric is the learned distance: how points of one class lie around their mean, seen in solved episodes, tells in
// which directions a distance says little of the class. It knows nothing of episodes beyond their rows and answers.
package metric

import (
	"fmt"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Metric takes a z-row to u-space: v = z - Centre, u = L2(v + V((Scales-1) * V'v)). It shrinks the directions in which one
// class spreads and, where it has learned how classes differ, grows those in which they do. Whoever holds one reads it only: streams and episodes share it.
type Metric struct {
	Centre  []float32 // d
	Vectors []float32 // V': len(Scales) orthonormal rows of dimension d
	Scales  []float32 // those that shrink, up to 1, before those that grow
}

// Check reports the first fault of a metric for rows of dimension d: a size that is wrong or a value that is not finite.
func (m *Metric) Check(d int) error {
	if len(m.Centre) != d || len(m.Vectors) != len(m.Scales)*d {
		return fmt.Errorf("metric: centre of dimension %d, %d vector values and %d scales, not of dimension %d",
			len(m.Centre), len(m.Vectors), len(m.Scales), d)
	}
	for _, x := range [][]float32{m.Centre, m.Vectors, m.Scales} {
		if i := vector.NotFinite(x); i >= 0 {
			return fmt.Errorf("metric: value %g at %d is not finite", x[i], i)
		}
	}
	return nil
}

// Apply takes z-rows, in place, to u-space. A row at the centre becomes zero. scratch holds len(Scales) values; nil: it is
// allocated.
func (m *Metric) Apply(rows, scratch []float32) {
	d := len(m.Centre)
	scratch = vector.Resize(scratch, len(m.Scales))
	for from := 0; from < len(rows); from += d {
		row := rows[from : from+d]
		kernel.Axpy(-1, m.Centre, row)
		m.Shrink(row, scratch)
		vector.Unit(row, row)
	}
}

// Shrink is the linear part of Apply, in place: v + V((Scales-1) * V'v) of one row v. scratch holds len(Scales) values.
func (m *Metric) Shrink(row, scratch []float32) {
	d := len(m.Centre)
	kernel.Products(scratch, row, m.Vectors, 1, len(scratch), d)
	for j, b := range scratch {
		kernel.Axpy((m.Scales[j]-1)*b, m.Vectors[j*d:j*d+d], row)
	}
}
