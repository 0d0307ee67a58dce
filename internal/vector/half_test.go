package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Numbers come back within half a step of their block's, however large or small others are.
func TestHalfRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		d     int
		scale float32
	}{
		{1, 1}, {31, 1e-3}, {32, 1}, {33, math.MaxFloat32}, {100, math.SmallestNonzeroFloat32}, {512, 10}, {64, 0},
	} {
		values, got := make([]float32, c.d), make([]float32, c.d)
		for i := range values {
			values[i] = c.scale * (2*random.Float32() - 1)
			if i%64 >= halfBlock { // small ones, and zeros
				values[i] *= float32(i%2) / 50
			}
		}
		values[c.d-1] = c.scale
		row := make([]byte, HalfBytes(c.d))
		Unhalve(got, row, Halve(row, values))
		for i, v := range values {
			from := i - i%halfBlock
			largest := max(kernel.Largest(values[from:min(c.d, from+halfBlock)]), c.scale/200)
			if apart := math.Abs(float64(got[i]) - float64(v)); !(apart <= .1*float64(largest)+1e-44) {
				t.Errorf("%d numbers up to %g: %g at %d, not %g", c.d, c.scale, got[i], i, v)
			}
		}
	}
}
