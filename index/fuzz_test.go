package index

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
)

// floats decodes a fuzzed input: any bits, so NaN, infinities and denormals too.
func floats(data []byte) []float32 {
	x := make([]float32, len(data)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return x
}

func seedBytes(x []float32) []byte {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func FuzzBuild(f *testing.F) {
	f.Add(seedBytes(uniform(60, 1)), uint8(3), uint8(2), uint8(0), false)
	f.Add(seedBytes(hardRows("far apart in scale", 30, 2, 1)), uint8(2), uint8(4), uint8(1), true)
	f.Add(seedBytes([]float32{0, 0, 1, 1, float32(math.NaN()), 2}), uint8(2), uint8(1), uint8(0), true)
	f.Add(seedBytes(make([]float32, 40)), uint8(1), uint8(50), uint8(2), false)
	f.Fuzz(func(t *testing.T, data []byte, dimension, rho, method uint8, cosine bool) {
		d := 1 + int(dimension%9)
		x := floats(data)
		n := min(len(x)/d, 600)
		x = x[:n*d]
		o := Options{Rho: int(rho), Cosine: cosine, Method: Methods()[int(method)%len(Methods())], Workers: 2}
		got, err := Build(context.Background(), x, n, d, o)
		if err != nil {
			return
		}
		for p := range n {
			ids, distances := got.Row(p)
			for k, id := range ids {
				if k >= n-1 {
					if id != -1 || !math.IsInf(float64(distances[k]), 1) {
						t.Fatalf("row %d of %d has neighbour %d at %g", p, n, id, distances[k])
					}
					continue
				}
				if id < 0 && got.Report.Chosen == "exact" || int(id) >= n || int(id) == p || distances[k] != distances[k] {
					t.Fatalf("row %d of %d: neighbour %d at %g", p, n, id, distances[k])
				}
				if k > 0 && distances[k] < distances[k-1]*(1-reportedError) {
					t.Fatalf("row %d: %g after %g", p, distances[k], distances[k-1])
				}
			}
		}
		if got.Report.Chosen != "exact" || cosine || o.Rho == 0 || n < 2 || n > 100 {
			return
		}
		want := brute(x, n, d, o.Rho)
		for i, w := range want.Distances {
			if g := got.Distances[i]; g != w && !(math.Abs(float64(g-w)) <= 1e-3*float64(w)) {
				t.Fatalf("distance %d of row %d is %g, not %g", i%o.Rho, i/o.Rho, g, w)
			}
		}
	})
}
