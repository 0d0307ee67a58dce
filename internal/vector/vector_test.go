package vector

import (
	"math"
	"testing"
)

func TestRowsOfAMatrixAreParts(t *testing.T) {
	m := Rows([]float32{1, 2, 3, 4, 5, 6, 7}, 2)
	if m.N != 3 || len(m.Values) != 6 {
		t.Fatalf("%d rows, %d values", m.N, len(m.Values))
	}
	m.Row(1)[0] = 9
	if m.Slice(1, 3).Row(0)[0] != 9 {
		t.Error("a row is a copy")
	}
	if row := append(m.Row(0), 100); m.Row(1)[0] != 9 || len(row) != 3 {
		t.Error("an append to a row writes into the next")
	}
}

func TestResizeKeepsMemory(t *testing.T) {
	s := make([]int, 4, 8)
	if grown := Resize(s, 8); &grown[0] != &s[0] || len(grown) != 8 {
		t.Error("memory that is large enough is not used")
	}
	s[2] = 5
	if z := Zeroed(s, 4); z[2] != 0 {
		t.Error("not cleared")
	}
}

func TestUnit(t *testing.T) {
	v := []float32{3, 4}
	out := make([]float32, 2)
	if !Unit(out, v) || math.Abs(float64(out[0])-.6) > 1e-6 || v[0] != 3 {
		t.Errorf("%v of %v", out, v)
	}
	for _, scale := range []float32{1e-30, 1e38} {
		if !Unit(out, []float32{3 * scale, 3 * scale}) || math.Abs(float64(out[0])-math.Sqrt(.5)) > 1e-6 {
			t.Errorf("at scale %g: %v", scale, out)
		}
	}
	for _, bad := range [][]float32{{0, 0}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 1}} {
		if Unit(out, bad) {
			t.Errorf("%v has a direction", bad)
		}
	}
}

func TestNotFiniteAndMedian(t *testing.T) {
	if got := NotFinite([]float32{1, 2, float32(math.Inf(-1))}); got != 2 {
		t.Errorf("at %d", got)
	}
	if got := NotFinite([]float32{1}); got != -1 {
		t.Errorf("at %d", got)
	}
	if Median([]int{3, 1, 2}) != 2 || Median([]float64{}) != 0 || Median([]int{4, 1, 2, 3}) != 3 {
		t.Error("median")
	}
}

func TestQuantile(t *testing.T) {
	values := []float32{1, 2, 4}
	for q, want := range map[float64]float64{0: 1, .25: 1.5, .5: 2, .75: 3, 1: 4} {
		if got := Quantile(values, q); got != want {
			t.Errorf("at %g: %g, not %g", q, got, want)
		}
	}
	if Quantile([]float64{7}, .3) != 7 {
		t.Error("of one value")
	}
}
