package metric

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Wide maps z-rows as a Map does, to rows that are longer by a number for each direction, as the solver compares them:
// the inner product of a wide row with a turned one is that of the two rows in u-space. It takes half of the products that a
// row in u-space does. It is immutable.
type Wide struct {
	Centre []float32
	along  []float32 // each direction times its AlongScale, and zeros up to Width
	scales []float32
}

// Wide returns the wide map with its centre in the z-space of an embedding's mean; nil: the mean is zero.
func (m *Metric) Wide(mean []float32) *Wide {
	var about Map
	m.About(mean, &about)
	w := &Wide{Centre: about.Centre, scales: about.Scales}
	d, width := len(w.Centre), w.Width()
	w.along = make([]float32, len(w.scales)*width)
	for i, s := range w.scales {
		row := w.along[i*width : i*width+d]
		copy(row, about.Vectors[i*d:])
		kernel.Scale(AlongScale(s), row)
	}
	return w
}

// Width is the length of a wide row.
func (w *Wide) Width() int { return len(w.Centre) + len(w.scales) }

// Apply fills out with the wide rows of z-rows. A row at the centre becomes zero. It returns scratch, grown as needed,
// for the next call.
func (w *Wide) Apply(out, rows, scratch []float32) []float32 {
	d, r, width := len(w.Centre), len(w.scales), w.Width()
	n := len(rows) / d
	scratch = vector.Resize(scratch, n*(r+1))
	squares, along := scratch[:n], scratch[n:]
	for i := range n {
		row := out[i*width : i*width+width]
		squares[i] = kernel.Difference(row[:d], rows[i*d:i*d+d], w.Centre)
		clear(row[d:])
	}
	kernel.Products(along, out, w.along, n, r, width)
	for i := range n {
		row, own := out[i*width:i*width+width], along[i*r:i*r+r]
		by := float32(0)
		if length := LengthAlong(squares[i], own, w.scales); length > LeastLength {
			by = float32(1 / math.Sqrt(float64(length)))
		}
		copy(row[d:], own)
		kernel.Scale(by, row)
	}
	return scratch
}

// Turn makes wide rows turned ones, and back.
func (w *Wide) Turn(rows []float32) {
	d, less, width := len(w.Centre), Shrinking(w.scales), w.Width()
	for from := 0; from < len(rows); from += width {
		kernel.Scale(-1, rows[from+d:from+d+less])
	}
}

// Square is the squared length of a wide row, or of a sum of them, in u-space.
func (w *Wide) Square(row []float32) float32 {
	d := len(w.Centre)
	return max(0, LengthAlong(kernel.Dot(row[:d], row[:d]), row[d:], w.scales))
}

// LeastLength is the squared length up to which a row counts as zero.
const LeastLength = 1e-12

// Shrinking returns the number of scales before the first one that grows.
func Shrinking(scales []float32) int {
	for i, s := range scales {
		if s > 1 {
			return i
		}
	}
	return len(scales)
}

// AlongScale returns sqrt(|1 - s^2|), s the scale of a direction: the product of two rows in u-space is that less the
// centre, and for each direction the product of what they have along it times this, less or more by whether it shrinks.
func AlongScale(s float32) float32 { return float32(math.Sqrt(math.Abs(1 - float64(s)*float64(s)))) }

// LengthAlong returns the squared length of a row that the metric has mapped, from that before and its products with the
// directions times their AlongScale.
func LengthAlong(square float32, along, scales []float32) float32 {
	less := Shrinking(scales)
	square -= kernel.Dot(along[:less], along[:less])
	if more := along[less:]; len(more) > 0 {
		square += kernel.Dot(more, more)
	}
	return square
}
