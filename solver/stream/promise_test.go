package stream

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// TestOwnStateChangesNoOther: whatever a copy of a stream that has its state for itself learns and forgets, the
// stream stays as it was, byte for byte, in every part, and goes on as if nothing had happened.
func TestOwnStateChangesNoOther(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			want, _, _ := c.play(t, func(s *Stream, e *Engine) (*Stream, *Engine) { return s, e })
			f := newCamera(5, 9, 24, 1.2)
			labels := f.labels(1)
			got, _, _ := c.play(t, func(s *Stream, e *Engine) (*Stream, *Engine) {
				before := s.State()
				next := s.fork(new(Stream))
				next.detach()
				items, truth := f.episode(30, .3)
				for i := range items {
					if items[i].Frame, items[i].Track = fmt.Sprint(i/5), fmt.Sprint(i%5); i%7 == 0 {
						items[i].Label = truth[(i+1)%len(items)]
					}
				}
				answer(t, next, e, items, labels)
				answer(t, next, e, items[:3], nil)
				for _, class := range []string{label(0), label(1), "cluster-1"} {
					next.Reset(class)
				}
				if !reflect.DeepEqual(s.State(), before) {
					t.Fatalf("episode %d: the state is another", s.Episode())
				}
				s.forgetCaches()
				return s, e
			})
			if !reflect.DeepEqual(got, want) {
				t.Error("answers differ")
			}
		})
	}
}

// cancelled is a context that is cancelled when it has been asked so many times.
type cancelled struct {
	context.Context
	asks int
}

func (c *cancelled) Err() error {
	if c.asks--; c.asks < 0 {
		return context.Canceled
	}
	return nil
}

// TestHalfAnEpisodeTeachesNothing: an episode that is answered in two parts, of which the second fails, leaves the
// stream as it was; asked again it gets the answers that it would have had.
func TestHalfAnEpisodeTeachesNothing(t *testing.T) {
	const classes, n = 1500, 6000
	f := newCamera(3, classes, 8, .3)
	labels, set := f.labels(1), settings(t)
	set.Solver.Check = false
	s, untroubled, counted := New("cam", set), New("cam", set), New("cam", set)
	few, truth := f.episode(50, 0)
	for i := range few {
		few[i].Label = truth[i]
	}
	many, _ := f.episode(n, 0)
	for _, s := range []*Stream{s, untroubled, counted} {
		answer(t, s, nil, few, labels)
	}
	before := s.State()
	asked := &cancelled{context.Background(), 1 << 30}
	if _, _, err := counted.Answer(asked, nil, many[:n/2], labels); err != nil {
		t.Fatal(err)
	}
	asked.asks = 1<<30 - asked.asks + 1
	if _, _, err := s.Answer(asked, nil, many, labels); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	for i, piece := range s.State() {
		if !reflect.DeepEqual(piece, before[i]) {
			t.Fatalf("piece %s is another", piece.Name)
		}
	}
	got, _ := answer(t, s, nil, many, labels)
	want, _ := answer(t, untroubled, nil, many, labels)
	if !reflect.DeepEqual(got, want) {
		t.Error("answers differ")
	}
}
