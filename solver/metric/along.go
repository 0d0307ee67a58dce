package metric

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
)

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
