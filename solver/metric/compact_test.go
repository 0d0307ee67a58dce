package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// residuals is the sum of outer products of n rows that vary along some axes more than along others, and along the first
// not at all.
func residuals(n, d int) *Residuals {
	random := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	rows := make([]float32, n*d)
	for i := range n {
		common := random.NormFloat64()
		for j := 1; j < d; j++ {
			rows[i*d+j] = float32(random.NormFloat64()/float64(j) + common/10)
		}
	}
	r := &Residuals{Freedom: float64(n), Values: make([]float32, d*d)}
	kernel.AddOuter(r.Values, rows, n, d)
	for i := range d {
		r.Trace += float64(r.Values[i*d+i])
	}
	return r
}

// A correlation comes back within a code's step, the scale of a dimension exactly, and what was unpacked packs to the same
// bytes: a stream that is restored again and again does not wander.
func TestCompactKeepsCorrelations(t *testing.T) {
	for _, d := range []int{1, 2, 64, 97} {
		want := residuals(50, d)
		r := Compact{Sum: make([]float64, d)}
		r.pack(want)
		w := NewScatter(d)
		r.unpack(w)
		if w.Points.Freedom != want.Freedom || w.Points.Trace != want.Trace {
			t.Errorf("dimension %d: freedom %g, trace %g", d, w.Points.Freedom, w.Points.Trace)
		}
		for i := range d {
			for j := i; j < d; j++ {
				scale := math.Sqrt(float64(want.Values[i*d+i]) * float64(want.Values[j*d+j]))
				got, v := float64(w.Points.Values[i*d+j]), float64(want.Values[i*d+j])
				step := 2. / 3 / codeMost * scale // half of the widest
				if i == j {
					step = 1e-6 * scale
				}
				if !(math.Abs(got-v) <= step*1.001) {
					t.Errorf("dimension %d: %g at %d, %d, not %g", d, got, i, j, v)
				}
			}
		}
		again := Compact{Sum: r.Sum}
		again.pack(&w.Points)
		for i, code := range r.Codes {
			if again.Codes[i] != code {
				t.Fatalf("dimension %d: code %d is %d, then %d", d, i, int8(code), int8(again.Codes[i]))
			}
		}
	}
}

func TestRounded(t *testing.T) {
	for i := -3000; i <= 3000; i++ {
		v := float32(i) / 2999 // a little above 1, as rounding may have it
		want := math.RoundToEven(float64(v * codeMost))
		if got := int8(rounded(v)); float64(got) != want {
			t.Fatalf("%g has the code %d, not %g", v, got, want)
		}
	}
}
