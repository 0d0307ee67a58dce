package solver

import (
	"fmt"
	"math"

	"slkstream/internal/kernel"
)

// Embedding maps a raw row x to the space the solver works in: z = L2(sign(x)|x|^power - Mean); with a metric,
// v = z - Centre and u = L2(v + V((scales-1) * V'v)). A nil Metric leaves u = z.
type Embedding struct {
	Mean   []float32 // nil: the mean of the labelled rows with equal weight a class
	Metric *Metric
}

// Metric shrinks the directions in which one class spreads: Vectors holds len(Scales) orthonormal rows of dimension d.
type Metric struct {
	Centre  []float32
	Vectors []float32
	Scales  []float32
}

func (e *Embedding) check(d int) error {
	if e == nil {
		return nil
	}
	if e.Mean != nil && len(e.Mean) != d {
		return fmt.Errorf("embedding: mean of dimension %d, not %d", len(e.Mean), d)
	}
	if i := notFinite(e.Mean); i >= 0 {
		return fmt.Errorf("embedding: mean: value %g at %d is not finite", e.Mean[i], i)
	}
	m := e.Metric
	if m == nil {
		return nil
	}
	if len(m.Centre) != d || len(m.Vectors) != len(m.Scales)*d {
		return fmt.Errorf("metric: centre of dimension %d, %d vector values and %d scales, not of dimension %d", len(m.Centre), len(m.Vectors), len(m.Scales), d)
	}
	for _, x := range [][]float32{m.Centre, m.Vectors, m.Scales} {
		if i := notFinite(x); i >= 0 {
			return fmt.Errorf("metric: value %g at %d is not finite", x[i], i)
		}
	}
	return nil
}

// raise fills out with sign(x)|x|^power.
func raise(out, x []float32, power float64) {
	switch power {
	case 1:
		copy(out, x) // nothing happens where they are the same
	case .75:
		kernel.ThreeQuarterPower(out, x)
	default:
		for i, v := range x {
			out[i] = float32(math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v)))
		}
	}
}

// unit scales a row to length 1; a zero row stays zero. It is false for a row that has no finite length.
func unit(row []float32) bool {
	l := kernel.Dot(row, row)
	if l > 1e-20 && l < 1e20 {
		kernel.Scale(float32(1/math.Sqrt(float64(l))), row)
		return true
	}
	var sum float64
	for _, v := range row {
		sum += float64(v) * float64(v)
	}
	if sum-sum != 0 {
		return false
	}
	if sum = math.Sqrt(sum); sum > 0 {
		for i, v := range row {
			row[i] = float32(float64(v) / sum)
		}
	}
	return true
}

// Apply takes z-rows, in place, to u-space.
func (m *Metric) Apply(z []float32) { m.apply(z, len(m.Centre), make([]float32, len(m.Scales))) }

// apply takes z-rows, in place, to u-space. scratch holds len(Scales) values.
func (m *Metric) apply(x []float32, d int, scratch []float32) {
	for from := 0; from < len(x); from += d {
		row := x[from : from+d]
		kernel.Axpy(-1, m.Centre, row)
		m.shrink(row, d, scratch)
		unit(row)
	}
}

// shrink is the linear part of the metric: v + V((s-1) * V'v).
func (m *Metric) shrink(row []float32, d int, scratch []float32) {
	scratch = scratch[:len(m.Scales)]
	kernel.Products(scratch, row, m.Vectors, 1, len(scratch), d)
	for j, b := range scratch {
		kernel.Axpy((m.Scales[j]-1)*b, m.Vectors[j*d:j*d+d], row)
	}
}

// classMean fills mean with the mean of the labelled rows with equal weight a class. count holds k zeros.
func classMean(mean, x []float32, labels []int32, count []float64) {
	d := len(mean)
	clear(mean)
	var classes float64
	for _, l := range labels {
		if l >= 0 {
			if count[l] == 0 {
				classes++
			}
			count[l]++
		}
	}
	for i, l := range labels {
		if l >= 0 {
			kernel.Axpy(float32(1/(count[l]*classes)), x[i*d:i*d+d], mean)
		}
	}
}
