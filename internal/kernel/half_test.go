package kernel

import (
	"math"
	"testing"
)

// Each half comes back, and a value between two becomes the nearer, of two as near the even one.
func TestHalfIsTheNearest(t *testing.T) {
	for h := range 1 << 16 {
		v := Float16(uint16(h))
		if got := Half(v); got != uint16(h) && v == v {
			t.Fatalf("%g is %#x, not %#x", v, got, h)
		}
		if math.IsNaN(float64(v)) != math.IsNaN(float64(Float16(Half(v)))) {
			t.Fatalf("%#x: a NaN is lost", h)
		}
	}
	for h := range 0x7bff {
		a, b := Float16(uint16(h)), Float16(uint16(h+1))
		middle, even := (a+b)/2, h+h&1
		for v, want := range map[float32]int{
			middle: even, math.Nextafter32(middle, a): h, math.Nextafter32(middle, b): h + 1,
		} {
			if got, negative := Half(v), Half(-v); got != uint16(want) || negative != uint16(want|1<<15) {
				t.Fatalf("%g is %#x and %#x, not %#x", v, got, negative, want)
			}
		}
	}
	if Half(65519.9) != 0x7bff || Half(65520) != 0x7c00 || Half(float32(math.Inf(-1))) != 0xfc00 {
		t.Error("what is beyond all halves is not Inf")
	}
}
