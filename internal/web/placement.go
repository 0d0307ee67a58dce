package web

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// project maps the items' vectors to the plane by their two principal components, within -1 to 1. The
// components come from the Gram matrix, because an episode has far fewer items than dimensions.
func project(items []item) [][2]float32 {
	n, none := len(items), make([][2]float32, len(items))
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
	points, largest := make([][2]float32, n), float32(0)
	for axis, value := range values {
		length := float32(math.Sqrt(max(value, 0)))
		for i := range points {
			points[i][axis] = axes[axis*n+i] * length
			largest = max(largest, points[i][axis], -points[i][axis])
		}
	}
	if !(largest > 0 && largest <= math.MaxFloat32) {
		return none
	}
	for i := range points {
		points[i][0] /= largest
		points[i][1] /= largest
	}
	return points
}

// placement remembers where labels were on the map, so that it does not jump between episodes: principal
// components have no fixed direction.
type placement struct {
	centres map[string][2]float64
}

// align rotates the points, and mirrors them if that fits better, so that labels stay where they were.
func (p *placement) align(points [][2]float32, items []item) {
	sums, counts := map[string][2]float64{}, map[string]float64{}
	for i := range points {
		label := items[i].Result.Label
		s := sums[label]
		sums[label] = [2]float64{s[0] + float64(points[i][0]), s[1] + float64(points[i][1])}
		counts[label]++
	}
	// The best rotation maximises the sum of products of old and new centres, which has a closed
	// form in the plane.
	var same, cross, mirroredSame, mirroredCross float64
	for label, s := range sums {
		old, known := p.centres[label]
		if !known {
			continue
		}
		x, y := s[0], s[1] // sums, so weighted by the count
		same += old[0]*x + old[1]*y
		cross += old[1]*x - old[0]*y
		mirroredSame += old[0]*x - old[1]*y
		mirroredCross += old[1]*x + old[0]*y
	}
	mirror := 1.
	if math.Hypot(mirroredSame, mirroredCross) > math.Hypot(same, cross) {
		mirror, same, cross = -1, mirroredSame, mirroredCross
	}
	angle := math.Atan2(cross, same)
	sin, cos := math.Sincos(angle)
	turn := func(x, y float64) (float64, float64) {
		y *= mirror
		return cos*x - sin*y, sin*x + cos*y
	}
	for i := range points {
		x, y := turn(float64(points[i][0]), float64(points[i][1]))
		points[i] = [2]float32{float32(x), float32(y)}
	}
	if p.centres == nil {
		p.centres = map[string][2]float64{}
	}
	const most = 1000
	if len(p.centres) > most {
		clear(p.centres)
	}
	for label, s := range sums {
		x, y := turn(s[0]/counts[label], s[1]/counts[label])
		p.centres[label] = [2]float64{x, y}
	}
}
