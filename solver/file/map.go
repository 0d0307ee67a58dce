package file

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// mostMapped bounds the rows of a map.
const mostMapped = 2000

// project fills in the positions of a sample of the rows along the two directions in which it varies most.
func (l *loaded) project(r *Result) {
	every := (l.n + mostMapped - 1) / mostMapped
	d := l.points.D
	rows, centre := vector.Matrix{D: d}, make([]float32, d)
	for p := 0; p < l.n; p += every {
		row := l.points.Rows(p, p+1, l.points.Scratch(1))
		r.Sample = append(r.Sample, int32(p))
		rows = vector.Rows(append(rows.Values, row...), d)
		kernel.Axpy(1, row, centre)
	}
	kernel.Scale(1/float32(rows.N), centre)
	for i := range rows.N {
		kernel.Axpy(-1, centre, rows.Row(i))
	}
	r.Positions = make([][2]float32, rows.N)
	var first []float32
	for axis := range 2 {
		direction := vector.New(1, d).Values
		for j := range direction {
			direction[j] = rows.Row(j * (rows.N - 1) / d)[j] + 1e-3
		}
		for range 30 { // power iteration
			next := make([]float32, d)
			for i := range rows.N {
				kernel.Axpy(kernel.Dot(rows.Row(i), direction), rows.Row(i), next)
			}
			if first != nil {
				kernel.Axpy(-kernel.Dot(next, first), first, next)
			}
			vector.Unit(direction, next)
		}
		for i := range rows.N {
			r.Positions[i][axis] = kernel.Dot(rows.Row(i), direction)
		}
		first = direction
	}
}
