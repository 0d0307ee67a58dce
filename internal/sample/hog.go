package sample

import "math"

// HOG describes a square grey picture by the directions of its edges: histograms of oriented gradients over cells of
// four pixels, each block of two by two cells brought to length one. It stands in for a camera's neural network, sees
// shape and little of the light.
func HOG(pixels []byte, side int) []float32 {
	const (
		cell       = 4
		directions = 9
		clip       = .2  // no single edge rules a block
		floor      = 900 // squared strength below which a block is noise, not shape
	)
	cells := side / cell
	histogram := make([]float64, cells*cells*directions)
	at := func(x, y int) float64 {
		return float64(pixels[min(max(y, 0), side-1)*side+min(max(x, 0), side-1)])
	}
	for y := range side {
		for x := range side {
			dx, dy := at(x+1, y)-at(x-1, y), at(x, y+1)-at(x, y-1)
			strength := math.Hypot(dx, dy)
			if strength == 0 {
				continue
			}
			angle := math.Atan2(dy, dx)
			if angle < 0 {
				angle += math.Pi // an edge has no front
			}
			// The vote is shared between the two nearest directions and the four nearest cells.
			d := angle/math.Pi*directions - .5
			cx, cy := (float64(x)+.5)/cell-.5, (float64(y)+.5)/cell-.5
			d0, x0, y0 := math.Floor(d), math.Floor(cx), math.Floor(cy)
			for i := range 8 {
				di, xi, yi := d0+float64(i&1), x0+float64(i>>1&1), y0+float64(i>>2)
				column, row := int(xi), int(yi)
				if column < 0 || row < 0 || column >= cells || row >= cells {
					continue
				}
				share := (1 - math.Abs(d-di)) * (1 - math.Abs(cx-xi)) * (1 - math.Abs(cy-yi))
				direction := (int(di) + directions) % directions
				histogram[(row*cells+column)*directions+direction] += strength * share
			}
		}
	}
	blocks := cells - 1
	out := make([]float32, 0, blocks*blocks*4*directions)
	var block [4 * directions]float64
	for row := range blocks {
		for column := range blocks {
			for i := range 4 {
				from := ((row+i>>1)*cells + column + i&1) * directions
				copy(block[i*directions:], histogram[from:from+directions])
			}
			normalise(block[:], floor)
			for i := range block {
				block[i] = min(block[i], clip)
			}
			normalise(block[:], 1e-6)
			for _, x := range block {
				out = append(out, float32(x))
			}
		}
	}
	return out
}

// normalise brings v to length one, and to less where it is hardly longer than the floor allows.
func normalise(v []float64, floor float64) {
	square := floor
	for _, x := range v {
		square += x * x
	}
	scale := 1 / math.Sqrt(square)
	for i := range v {
		v[i] *= scale
	}
}
