package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// camera draws a stream of classes around fixed centres, a few of them at a time, as a camera would.
type camera struct {
	random  *rand.Rand
	centres [][]float32
	spread  float64
	offset  int64
}

func newCamera(seed uint64, classes, d int, spread float64) *camera {
	f := &camera{random: rand.New(rand.NewPCG(seed, 7)), spread: spread}
	for range classes {
		centre := make([]float32, d)
		for j := range centre {
			centre[j] = float32(f.random.NormFloat64())
		}
		f.centres = append(f.centres, centre)
	}
	return f
}

func (f *camera) vector(class int) []float32 {
	v := make([]float32, len(f.centres[class]))
	for j := range v {
		v[j] = f.centres[class][j] + float32(f.spread*f.random.NormFloat64())
	}
	return v
}

func label(class int) string { return fmt.Sprintf("class-%02d", class) }

func (f *camera) labels(shots int) *taught.Labels {
	l := &taught.Labels{Stream: map[string][]taught.Example{}}
	for c := range f.centres {
		for i := range shots {
			l.Everyone = append(l.Everyone, taught.Example{ID: fmt.Sprintf("s%d-%d", c, i), Label: label(c), Vector: f.vector(c)})
		}
	}
	return l
}

// episode draws n items, each taught with this probability.
func (f *camera) episode(n int, taught float64) (items []Item, truth []string) {
	from := f.random.IntN(len(f.centres))
	for range n {
		c := (from + f.random.IntN(min(3, len(f.centres)))) % len(f.centres)
		item := Item{ID: fmt.Sprintf("i%d", f.offset), Vector: f.vector(c), Position: Position{Offset: f.offset, Object: -1}}
		if f.random.Float64() < taught {
			item.Label = label(c)
		}
		f.offset++
		items, truth = append(items, item), append(truth, label(c))
	}
	return items, truth
}

// settings returns the defaults, with R checked in every half-step.
func settings(t testing.TB) Settings {
	t.Helper()
	out := Defaults()
	out.Solver.Check = true
	out.ReviewRate = .05
	return out
}

func engine(t testing.TB, s Settings) *Engine {
	t.Helper()
	e := new(Engine)
	return e
}

// answer fails the test on an error and on any rise of R.
func answer(t testing.TB, s *Stream, e *Engine, items []Item, labels *taught.Labels) ([]Answer, Report) {
	t.Helper()
	answers, report, err := s.Answer(context.Background(), e, items, labels)
	if err != nil {
		t.Fatal(err)
	}
	if report.Rises != 0 {
		t.Errorf("episode %d: R rose in %d half-steps", report.Episode, report.Rises)
	}
	if len(answers) != len(items) {
		t.Fatalf("%d answers to %d items", len(answers), len(items))
	}
	return answers, report
}
