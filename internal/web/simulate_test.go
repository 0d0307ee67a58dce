package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
)

// simulation is a stage that labels pictures by the nearest mean, enough to give the page something to show.
type simulation struct {
	belt   *demo.Belt
	labels []string
	means  map[string][]float64
	number int64
	all    int64

	mu     sync.Mutex
	taught []record.Example
}

func newSimulation(t testing.TB) *simulation {
	t.Helper()
	s := &simulation{belt: demo.NewBelt(1), means: map[string][]float64{}}
	s.labels = slices.Clone(s.belt.Names())
	for _, p := range s.belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		if s.means[p.Thing] == nil {
			s.means[p.Thing] = make([]float64, len(e.Vector))
		}
		for j, x := range e.Vector {
			s.means[p.Thing][j] += float64(x)
		}
	}
	return s
}

func (s *simulation) teach(e *record.Example) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taught = append(s.taught, *e)
	return nil
}

func (s *simulation) lessons() []record.Example {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taught)
}

func (s *simulation) status() pipeline.Summary {
	return pipeline.Summary{Answered: s.all, Unknown: s.all / 40, Episodes: s.number, Streams: 1, Lag: 12}
}

// episode answers the next n pictures.
func (s *simulation) episode(t testing.TB, n int) *episode {
	t.Helper()
	s.number++
	e := &episode{
		Stream: "belt", Number: s.number, Closed: "size", Iterations: 7, Warm: true, Admitted: n / 2,
		Solve: 1.8,
	}
	var rows []float32
	for i := range n {
		picture := s.belt.Next()
		example, err := picture.Example()
		if err != nil {
			t.Fatal(err)
		}
		best := map[string]float64{}
		for label, mean := range s.means {
			for j, x := range example.Vector {
				best[label] += (float64(x) - mean[j]) * (float64(x) - mean[j])
			}
		}
		order := slices.SortedFunc(slices.Values(s.labels), func(a, b string) int {
			if best[a] < best[b] {
				return -1
			}
			return 1
		})
		s.all++
		rows = append(rows, example.Vector...)
		source := record.Source{Topic: "belt", Offset: s.all, Object: -1}
		e.items = append(e.items, item{Example: picture.ID, Vector: example.Vector, Result: record.Result{
			ID: source.ID(), ItemID: picture.ID, Stream: "belt",
			Episode: s.number, Label: order[0], Confidence: best[order[1]] / (best[order[0]] + best[order[1]]),
			Unknown:      i%23 == 7,
			Alternatives: []record.Alternative{{Label: order[1], Confidence: .2}}, Time: time.Now(),
			Attributes: example.Attributes,
		}})
	}
	near, err := index.Build(context.Background(), rows, n, len(rows)/n, index.Options{Rho: 4})
	if err != nil {
		t.Fatal(err)
	}
	for p := range n {
		for _, q := range near.IDs[4*p : 4*p+4] {
			if q >= 0 {
				e.Edges = append(e.Edges, [2]int32{int32(p), q})
			}
		}
	}
	r := -50. - float64(s.number%5)
	for step := range 9 {
		e.Trace = append(e.Trace, r)
		r -= 60 / float64(1+step*step*step)
	}
	return e
}

func (s *simulation) page() *Page {
	p := pageOf(Options{Title: "demo", Say: saying(s.teach)},
		fakeStage{classes: s.labels, status: s.status})
	p.Score(demo.Board{All: demo.Pair{{Name: "slkstream", Right: 7, All: 9, Late: 1, LateOf: 2}}})
	return p
}

// read takes one event from a stream.
func readEvent(read func() (string, error)) (name string, data map[string]any, err error) {
	for {
		line, err := read()
		if err != nil {
			return "", nil, err
		}
		switch {
		case len(line) > 7 && line[:7] == "event: ":
			name = line[7:]
		case len(line) > 6 && line[:6] == "data: ":
			if err := json.Unmarshal([]byte(line[6:]), &data); err != nil {
				return name, nil, fmt.Errorf("%s: %w", name, err)
			}
			return name, data, nil
		}
	}
}
