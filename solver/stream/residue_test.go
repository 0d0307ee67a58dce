package stream

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/metric"
)

// residuals is the sum of outer products of n rows that vary along some axes more than along others, and along the first
// not at all.
func residuals(n, d int) *metric.Residuals {
	random := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	rows := make([]float32, n*d)
	for i := range n {
		common := random.NormFloat64()
		for j := 1; j < d; j++ {
			rows[i*d+j] = float32(random.NormFloat64()/float64(j) + common/10)
		}
	}
	r := &metric.Residuals{Freedom: float64(n), Values: make([]float32, d*d)}
	kernel.AddOuter(r.Values, rows, n, d)
	for i := range d {
		r.Trace += float64(r.Values[i*d+i])
	}
	return r
}

// A correlation comes back within a code's step, the scale of a dimension exactly, and what was unpacked packs to the same
// bytes: a stream that is restored again and again does not wander.
func TestResidueKeepsCorrelations(t *testing.T) {
	for _, d := range []int{1, 2, 64, 97} {
		want := residuals(50, d)
		r := residue{sum: make([]float64, d)}
		r.pack(want)
		w := metric.NewScatter(d)
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
		again := residue{sum: r.sum}
		again.pack(&w.Points)
		for i, code := range r.codes {
			if again.codes[i] != code {
				t.Fatalf("dimension %d: code %d is %d, then %d", d, i, int8(code), int8(again.codes[i]))
			}
		}
	}
}

// Long after the start a stream changes what it keeps of its residuals only now and then, and never keeps more than the
// bound of degrees of freedom.
func TestResidueChangesRarely(t *testing.T) {
	set := settings(t)
	f := newCamera(8, 3, 12, 1)
	labels := f.labels(1)
	s, e := New("cam", set), engine(t, set)
	changes := 0
	for episode := range 64 {
		was := s.metric.seen
		items, _ := f.episode(30, 0)
		answer(t, s, e, items, labels)
		if episode >= 32 && s.metric.seen != was {
			changes++
		}
		if most := freedomKept * 12.; s.metric.seen.freedom > most || s.metric.seen.count > most {
			t.Fatalf("episode %d: %g degrees of freedom of %g rows, at most %g", episode+1, s.metric.seen.freedom, s.metric.seen.count, most)
		}
	}
	if changes != 4 {
		t.Errorf("%d changes in the second half, not 4", changes)
	}
	if s.metric.current == nil {
		t.Fatal("no metric: this test tests nothing")
	}
	restored, err := Restore(set, s.State())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(restored.metric.current, s.metric.current) {
		t.Errorf("the metric changes on its way through the state")
	}
}

// The residuals of small episodes wait until there are enough of them, and count from the start.
func TestResidualsOfSmallEpisodesWait(t *testing.T) {
	set := settings(t)
	f := newCamera(9, 3, 40, 1)
	labels := f.labels(1)
	s, e := New("cam", set), engine(t, set)
	last := 0.
	for episode := range 8 {
		items, _ := f.episode(10, 0)
		answer(t, s, e, items, labels)
		r := s.metric.seen
		if want := episode < 6; (r.scales == nil) != want {
			t.Errorf("episode %d: %d rows wait", episode+1, len(r.pending)/40)
		}
		if !(r.known() > last) {
			t.Errorf("episode %d: %g degrees of freedom, %g before", episode+1, r.known(), last)
		}
		last = r.known()
		restored, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(restored.metric.seen, r) {
			t.Errorf("episode %d: other residuals from the state", episode+1)
		}
	}
}
