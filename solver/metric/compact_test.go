package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

const codeMost = 127 // the code of 1

// residuals is the sum of outer products of n rows that vary more along some axes than along others, and
// along the first not at all.
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

// Correlations are restored to within a code's step, the scale of a dimension exactly. What was unpacked
// packs to the same bytes, so that a stream restored again and again does not drift.
func TestCompactKeepsCorrelations(t *testing.T) {
	for _, d := range []int{1, 2, 64, 97} {
		want := residuals(50, d)
		r := Compact{Sum: make([]float64, d)}
		r.pack(want, 1)
		w := NewScatter(d)
		r.unpack(w)
		if w.Points.Freedom != want.Freedom || w.Points.Trace != want.Trace {
			t.Errorf("dimension %d: freedom %g, trace %g", d, w.Points.Freedom, w.Points.Trace)
		}
		for i := range d {
			for j := i; j < d; j++ {
				scale := math.Sqrt(float64(want.Values[i*d+i]) * float64(want.Values[j*d+j]))
				got, v := float64(w.Points.Values[i*d+j]), float64(want.Values[i*d+j])
				step := 4. / 3 / codeMost * scale // the widest
				if i == j {
					step = 1e-6 * scale
				}
				if !(math.Abs(got-v) <= step*1.001) {
					t.Errorf("dimension %d: %g at %d, %d, not %g", d, got, i, j, v)
				}
			}
		}
		again := Compact{Sum: r.Sum}
		again.pack(&w.Points, 2)
		for i, code := range r.Codes {
			if again.Codes[i] != code {
				t.Fatalf("dimension %d: code %d is %d, then %d", d, i, int8(code), int8(again.Codes[i]))
			}
		}
	}
}

// A drift by a thousandth of the way in each episode, far less than a code's step, is followed.
func TestCompactFollowsSlowDrift(t *testing.T) {
	const d, episodes, part = 40, 1000, .001
	correlated := func(r float32) []float32 {
		values := make([]float32, d*d)
		for i := range values {
			if values[i] = r; i%(d+1) == 0 {
				values[i] = 1
			}
		}
		return values
	}
	for _, c := range []struct{ from, to float32 }{{.3, .5}, {.03, 0}, {0, -.1}, {.9, .95}} {
		target, w := correlated(c.to), NewScatter(d)
		r := Compact{Sum: make([]float64, d)}
		r.pack(&Residuals{Freedom: 8 * d, Trace: d, Values: correlated(c.from)}, 0)
		for episode := range int64(episodes) {
			r.unpack(w)
			kernel.Scale(1-part, w.Points.Values)
			kernel.Axpy(part, target, w.Points.Values)
			r.pack(&w.Points, episode+1)
		}
		r.unpack(w)
		var mean float64
		for i := range d {
			for _, v := range w.Points.Values[i*d+i+1 : i*d+d] {
				mean += float64(v) / (d * (d - 1) / 2)
			}
		}
		share := math.Pow(1-part, episodes)
		want := share*float64(c.from) + (1-share)*float64(c.to)
		if moved := math.Abs(float64(c.to - c.from)); math.Abs(mean-want) > .05*moved {
			t.Errorf("from %g to %g: %.4f on average after %d episodes, not %.4f", c.from, c.to, mean, episodes, want)
		}
	}
}

// Ten thousand streams each keep a metric, so none holds more memory than its values need.
func TestAMetricHoldsItsValuesOnly(t *testing.T) {
	const d, k = 150, 10
	z, soft := episode(rand.New(rand.NewPCG(1, 2)), d)
	seen := (*Compact)(nil).With(1, Rows{z, make([]float32, d), make([]float32, len(z)/d), soft, k}, true)
	from := Material{Seen: seen, Variety: 1, Z: z[:d], Labels: []int32{0}, Classes: k, Rank: 32, Shrink: .85}
	m, err := from.Metric()
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	if m.Vectors == nil || cap(m.Vectors) > 33*d || cap(m.Scales) > 33 {
		t.Errorf("%d vector values and %d scales take memory for %d and %d", len(m.Vectors), len(m.Scales),
			cap(m.Vectors), cap(m.Scales))
	}
}

// A value between two codes is rounded to each of them with a frequency by its nearness.
func TestRound(t *testing.T) {
	codes, values := make([]byte, ditherCycle), make([]float32, ditherCycle)
	scales := make([]float32, ditherCycle)
	for i := range scales {
		scales[i] = .5
	}
	rounded := func(power float32, start int) []byte {
		v := math.Copysign(math.Pow(math.Abs(float64(power)), 4./3), float64(power))
		for i := range values {
			values[i] = float32(v / 8)
		}
		kernel.ToCodes(codes, values, 16, scales, dithers[start:])
		return codes
	}
	for i := -300; i <= 300; i++ {
		v := float32(i) / 299 // up to a little above 1, as after rounding
		if i == 300 || i == -300 {
			v = float32(i) / 300
			for j, code := range rounded(v*1.0003, 0) {
				if want := byte(int8(codeMost * v)); code != want {
					t.Fatalf("%g has the code %d, not %d, with the dither %g", v*1.0003, code, want, dithers[j])
				}
			}
		}
		below := math.Floor(float64(v*codeMost) + .001)
		sum := 0.
		for _, code := range rounded(v, (i+300)*6) {
			got := float64(int8(code))
			if got != below && got != below+1 {
				t.Fatalf("%g has the code %g, not %g or the next", v, got, below)
			}
			sum += got / ditherCycle
		}
		if math.Abs(sum-float64(v*codeMost)) > .01 {
			t.Fatalf("%g has the code %g on average, not %g", v, sum, v*codeMost)
		}
	}
}
