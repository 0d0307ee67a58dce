package sample

import "math"

// The shape of a HOG embedding.
const (
	hogCells      = 5 // per side
	hogDirections = 8
	hogPatches    = 7 // per side
)

// HOG computes the embedding of a square grey picture: histograms of oriented gradients over 5 x 5 cells,
// each normalised by its neighbourhood, and the relative brightness of 7 x 7 patches. The demo uses it
// instead of a camera's neural network. It depends on shapes, and little on lighting.
func HOG(pixels []byte, side int) []float32 {
	histogram := gradients(pixels, side)
	energy := make([]float64, hogCells*hogCells)
	mean := 0.
	for c := range energy {
		for _, x := range histogram[c*hogDirections : (c+1)*hogDirections] {
			energy[c] += x * x
		}
		mean += energy[c] / float64(len(energy))
	}
	out := make([]float32, 0, hogCells*hogCells*hogDirections+hogPatches*hogPatches)
	for row := range hogCells {
		for column := range hogCells {
			const (
				overall = .3  // weight of the picture's mean in a cell's norm, so that empty corners stay quiet
				noise   = 100 // squared strength below which edges are noise
			)
			scale := 1 / math.Sqrt(around(energy, row, column)+overall*mean+noise)
			from := (row*hogCells + column) * hogDirections
			for _, x := range histogram[from : from+hogDirections] {
				out = append(out, float32(math.Sqrt(x*scale)))
			}
		}
	}
	return appendBrightness(out, pixels, side)
}

// gradients sums the strength of edges by cell and direction. Each edge is shared between the two nearest
// directions and the four nearest cells.
func gradients(pixels []byte, side int) []float64 {
	histogram := make([]float64, hogCells*hogCells*hogDirections)
	at := func(x, y int) float64 {
		return float64(pixels[min(max(y, 0), side-1)*side+min(max(x, 0), side-1)])
	}
	size := float64(side) / hogCells
	for y := range side {
		for x := range side {
			dx, dy := at(x+1, y)-at(x-1, y), at(x, y+1)-at(x, y-1)
			strength := math.Hypot(dx, dy)
			if strength == 0 {
				continue
			}
			angle := math.Atan2(dy, dx)
			if angle < 0 {
				angle += 2 * math.Pi
			}
			d := angle/(2*math.Pi)*hogDirections - .5
			cx, cy := (float64(x)+.5)/size-.5, (float64(y)+.5)/size-.5
			d0, x0, y0 := math.Floor(d), math.Floor(cx), math.Floor(cy)
			for i := range 8 {
				di, xi, yi := d0+float64(i&1), x0+float64(i>>1&1), y0+float64(i>>2)
				column, row := int(xi), int(yi)
				if column < 0 || row < 0 || column >= hogCells || row >= hogCells {
					continue
				}
				share := (1 - math.Abs(d-di)) * (1 - math.Abs(cx-xi)) * (1 - math.Abs(cy-yi))
				direction := (int(di) + hogDirections) % hogDirections
				histogram[(row*hogCells+column)*hogDirections+direction] += strength * share
			}
		}
	}
	return histogram
}

// around returns the mean energy of a cell and its neighbours.
func around(energy []float64, row, column int) float64 {
	sum, count := 0., 0.
	for r := max(row-1, 0); r <= min(row+1, hogCells-1); r++ {
		for c := max(column-1, 0); c <= min(column+1, hogCells-1); c++ {
			sum += energy[r*hogCells+c]
			count++
		}
	}
	return sum / count
}

// appendBrightness appends the brightness of each patch relative to the picture's mean.
func appendBrightness(out []float32, pixels []byte, side int) []float32 {
	var sum, count [hogPatches * hogPatches]float64
	mean := 0.
	for y := range side {
		for x := range side {
			patch := y*hogPatches/side*hogPatches + x*hogPatches/side
			value := float64(pixels[y*side+x])
			sum[patch] += value
			count[patch]++
			mean += value / float64(side*side)
		}
	}
	const (
		weight = .7 // relative to the edges
		dark   = 5  // added to the mean, so that dark pictures give small values
	)
	for patch := range sum {
		share := 0.
		if count[patch] > 0 {
			share = sum[patch] / count[patch] / (mean + dark)
		}
		out = append(out, float32(weight*math.Sqrt(share)))
	}
	return out
}
