package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// A wide row times a turned one is the product of the two rows that the map gives; a row at the centre is zero.
func TestWide(t *testing.T) {
	const n, d = 7, 37
	random := rand.New(rand.NewPCG(3, 1))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	for _, scales := range [][]float32{{}, {.1, .5, .9}, {.3, 1, 1.5, 2}, {1.2}} {
		vectors := make([]float32, len(scales)*d)
		vector.Orthonormal(vectors, draw(len(vectors)), d, 2)
		m := Of(draw(d), vectors, scales)
		m.Inverse = .5
		mean, rows := draw(d), draw(n*d)
		var by Map
		m.About(mean, &by)
		copy(rows, by.Centre)
		w := m.Wide(mean)
		width := w.Width()
		wide := make([]float32, n*width)
		w.Apply(wide, rows, nil)
		by.Apply(rows, nil)
		turned := append([]float32(nil), wide...)
		w.Turn(turned)
		for i := range n {
			a := wide[i*width : i*width+width]
			for j := range n {
				got, want := kernel.Dot(a, turned[j*width:j*width+width]), kernel.Dot(rows[i*d:i*d+d], rows[j*d:j*d+d])
				if math.Abs(float64(got-want)) > 1e-5 {
					t.Errorf("scales %v: product of rows %d and %d is %g, not %g", scales, i, j, got, want)
				}
			}
			if got, want := w.Square(a), kernel.Dot(rows[i*d:i*d+d], rows[i*d:i*d+d]); math.Abs(float64(got-want)) > 1e-5 {
				t.Errorf("scales %v: row %d has length %g, not %g", scales, i, got, want)
			}
		}
		if w.Turn(turned); !slices.Equal(turned, wide) {
			t.Errorf("scales %v: turned twice, rows are others", scales)
		}
		if kernel.Dot(wide[:width], wide[:width]) != 0 {
			t.Errorf("scales %v: the row at the centre is not zero", scales)
		}
	}
}
