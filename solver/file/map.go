package file

import (
	"fmt"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// mostMapped bounds the rows of a map.
const mostMapped = 2000

// project fills in the positions of a sample of the rows along the two directions in which it varies most.
func (l *loaded) project(r *Result) error {
	every := (l.n + mostMapped - 1) / mostMapped
	rows, scratch := vector.Matrix{D: l.points.D}, l.points.Scratch(1)
	for p := 0; p < l.n; p += every {
		r.Sample = append(r.Sample, int32(p))
		rows = vector.Rows(append(rows.Values, l.points.Rows(p, p+1, scratch)...), rows.D)
	}
	_, axes, err := vector.Principal(rows, 2)
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	r.Positions = make([][2]float32, rows.N)
	for i := range rows.N {
		for axis := range axes.N {
			r.Positions[i][axis] = kernel.Dot(rows.Row(i), axes.Row(axis))
		}
	}
	return nil
}
