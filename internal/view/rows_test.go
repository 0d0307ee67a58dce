package view

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// Products of rows are those of the rows that the metric's map gives, up to rounding; a row has length 1, and one at the
// centre is zero. Sums of rows keep their lengths.
func TestRows(t *testing.T) {
	const n, d, most = 9, 37, .02
	random := rand.New(rand.NewPCG(3, 1))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	for _, scales := range [][]float32{nil, {}, {.1, .5, .9}, {.3, 1, 1.5, 2}, {1.2}} {
		vectors := make([]float32, len(scales)*d)
		vector.Orthonormal(vectors, draw(len(vectors)), d, 2)
		m := metric.Of(draw(d), vectors, scales)
		m.Inverse = .5
		k := &View{Knowledge: Knowledge{Dimension: d, Names: []string{"a"}}, Mean: draw(d)}
		z := draw(n * d)
		mapped := append([]float32(nil), z...)
		if scales == nil {
			for i := range n {
				vector.Unit(mapped[i*d:i*d+d], mapped[i*d:i*d+d])
			}
		} else {
			k.Learned = m
			var by metric.Map
			m.About(k.Mean, &by)
			copy(z, by.Centre)
			copy(mapped, by.Centre)
			by.Apply(mapped, nil)
		}
		k.takeMetric()
		var rows Rows
		var tile Tile
		k.Resize(&rows, 2)
		for i := range rows.Len() {
			k.Put(&rows, i, append([]float32(nil), z[i*d:i*d+d]...))
		}
		k.Resize(&rows, n)
		plain := append([]float32(nil), z[2*d:]...)
		k.PutTile(&tile, &rows, append([]float32(nil), plain...))
		products := make([]float32, (n-2)*n)
		k.Products(products, &tile, &rows, 0)
		for i := range n - 2 {
			for j := range n {
				got, want := products[i*n+j], kernel.Dot(mapped[(i+2)*d:(i+3)*d], mapped[j*d:j*d+d])
				if math.Abs(float64(got-want)) > most || j == i+2 && math.Abs(float64(got-1)) > 1e-5 {
					t.Errorf("scales %v: product of rows %d and %d is %g, not %g", scales, i+2, j, got, want)
				}
				want = kernel.SquaredDistance(plain[i*d:i*d+d], z[j*d:j*d+d])
				if got := k.Plainly(&tile, i, &rows, j); math.Abs(got-math.Sqrt(float64(want))) > 5*most {
					t.Errorf("scales %v: distance of rows %d and %d is %g, not %g", scales, i+2, j, got, math.Sqrt(float64(want)))
				}
			}
		}
		if scales != nil && kernel.Dot(products[:1], products[:1]) != 0 {
			t.Errorf("scales %v: the row at the centre is not zero", scales)
		}
		sums, sum := newSums(k), make([]float32, d)
		for i := range n {
			sums.Add(0, &rows, i, 2, 1)
			kernel.Axpy(2, mapped[i*d:i*d+d], sum)
		}
		sums.Weigh(0)
		square := float64(kernel.Dot(sum, sum))
		if math.Abs(sums.Squares[0]/square-1) > most || sums.Masses[0] != n {
			t.Errorf(
				"scales %v: the squared length of the sum is %g, not %g, its mass %g",
				scales,
				sums.Squares[0],
				square,
				sums.Masses[0],
			)
		}
		k.Products(products[:n-2], &tile, &sums.Rows, 0)
		for i, got := range products[:n-2] {
			if want := kernel.Dot(mapped[(i+2)*d:(i+3)*d], sum); math.Abs(float64(got-want)) > n*most {
				t.Errorf("scales %v: product of row %d and the sum is %g, not %g", scales, i+2, got, want)
			}
		}
		if rows.Delete(2); rows.Len() != n-2 {
			t.Fatalf("%d rows are left", rows.Len())
		}
		again := make([]float32, (n-2)*(n-2))
		k.PutTile(&tile, &rows, plain)
		if k.Products(again, &tile, &rows, 0); math.Abs(float64(again[n-1]-1)) > 1e-5 {
			t.Errorf("scales %v: after others went, the product of a row with itself is %g", scales, again[n-1])
		}
	}
}
