package web

import (
	"math"
	"math/cmplx"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// project maps the items' vectors to the complex plane by their two principal components, within -1 to 1. The
// components come from the Gram matrix, because an episode has far fewer items than dimensions.
func project(items []item) []complex128 {
	n, none := len(items), make([]complex128, len(items))
	if n < 2 {
		return none
	}
	d := len(items[0].Vector)
	mean, rows := make([]float32, d), make([]float32, 0, n*d)
	for i := range items {
		if len(items[i].Vector) != d {
			return none
		}
		kernel.Axpy(1/float32(n), items[i].Vector, mean)
		rows = append(rows, items[i].Vector...)
	}
	for i := range n {
		kernel.Axpy(-1, mean, rows[i*d:i*d+d])
	}
	gram := make([]float32, n*n)
	kernel.Gram(gram, rows, n, d)
	values, axes, err := vector.TopEigenpairs(gram, n, 2)
	if err != nil {
		return none
	}
	points, largest := make([]complex128, n), 0.
	for i := range points {
		x := float64(axes[i]) * math.Sqrt(max(values[0], 0))
		y := float64(axes[n+i]) * math.Sqrt(max(values[1], 0))
		points[i], largest = complex(x, y), max(largest, math.Abs(x), math.Abs(y))
	}
	if !(largest > 0 && largest <= math.MaxFloat32) {
		return none
	}
	for i := range points {
		points[i] /= complex(largest, 0)
	}
	return points
}

// placement remembers where labels were on the map, so that it does not jump between episodes: principal
// components have no fixed direction.
type placement struct {
	centres map[string]complex128
}

// align rotates the points, and mirrors them if that fits better, so that labels stay where they were.
func (p *placement) align(points []complex128, items []item) {
	sums, counts := map[string]complex128{}, map[string]float64{}
	for i, at := range points {
		label := items[i].Result.Label
		sums[label] += at
		counts[label]++
	}
	// The best rotation turns by the angle of the products of the old centres and the conjugates of the new
	// ones. Mirrored points are conjugates, so that theirs are products of the old and the new centres.
	var turned, mirrored complex128
	for label, sum := range sums { // sums, so weighted by the count
		old := p.centres[label]
		turned += old * cmplx.Conj(sum)
		mirrored += old * sum
	}
	mirror := cmplx.Abs(mirrored) > cmplx.Abs(turned)
	if mirror {
		turned = mirrored
	}
	turn := cmplx.Rect(1, cmplx.Phase(turned))
	onMap := func(at complex128) complex128 {
		if mirror {
			at = cmplx.Conj(at)
		}
		return turn * at
	}
	for i := range points {
		points[i] = onMap(points[i])
	}
	const most = 1000
	if len(p.centres) > most || p.centres == nil {
		p.centres = map[string]complex128{}
	}
	for label, sum := range sums {
		p.centres[label] = onMap(sum / complex(counts[label], 0))
	}
}
