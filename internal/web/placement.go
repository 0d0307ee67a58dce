package web

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// project maps the items' vectors to the plane by their two principal components, within -1 to 1. The
// components come from the Gram matrix, because an episode has far fewer items than dimensions.
func project(items []item) [][2]float32 {
	n := len(items)
	points := make([][2]float32, n)
	if n < 2 {
		return points
	}
	d := len(items[0].Vector)
	mean := make([]float64, d)
	for i := range items {
		v := items[i].Vector
		if len(v) != d {
			return points
		}
		for j, x := range v {
			mean[j] += float64(x) / float64(n)
		}
	}
	centred := mat.NewDense(n, d, nil)
	for i := range items {
		row := centred.RawRowView(i)
		for j, x := range items[i].Vector {
			row[j] = float64(x) - mean[j]
		}
	}
	gram := mat.NewSymDense(n, nil)
	gram.SymOuterK(1, centred)
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return points
	}
	values := eigen.Values(nil)
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	largest := 0.
	flat := make([][2]float64, n)
	for axis := range 2 {
		column := n - 1 - axis // eigenvalues ascend
		length := math.Sqrt(max(values[column], 0))
		for i := range flat {
			flat[i][axis] = axes.At(i, column) * length
			largest = max(largest, math.Abs(flat[i][axis]))
		}
	}
	if !(largest > 0) || math.IsInf(largest, 0) {
		return points
	}
	for i := range flat {
		points[i] = [2]float32{float32(flat[i][0] / largest), float32(flat[i][1] / largest)}
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
