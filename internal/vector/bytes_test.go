package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Codes are the nearest whole numbers of the direction, whatever its length.
func TestBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []float64{1, 1e38, 1e-30, 1e-37, 1e-42} {
		for _, d := range []int{1, 15, 16, 100} {
			values, codes := make([]float32, d), make([]int8, d)
			largest := 0.
			for i := range values {
				values[i] = float32(scale * (2*random.Float64() - 1))
				largest = max(largest, math.Abs(float64(values[i])))
			}
			var sum int32
			square := Bytes(codes, values)
			for i, v := range values {
				if exact := 127 / largest * float64(v); math.Abs(exact-float64(codes[i])) > .5001 {
					t.Fatalf("scale %g: %d, not %g", scale, codes[i], exact)
				}
				sum += int32(codes[i]) * int32(codes[i])
			}
			if square != sum || square == 0 {
				t.Fatalf("scale %g: a square of %d, not %d", scale, square, sum)
			}
		}
	}
	for _, no := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)} {
		codes := []int8{1, 1}
		if square := Bytes(codes, []float32{0, float32(no)}); square != 0 || codes[0] != 0 || codes[1] != 0 {
			t.Errorf("%g: codes %d, a square of %d", no, codes, square)
		}
	}
}
