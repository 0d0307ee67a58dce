// Package memory is what a stream remembers from episode to episode: labelled examples, learned prototypes, class
// proportions, the metric, calibration, clusters. It is pure: no Kafka, no clock, no goroutine.
package memory

import (
	"context"
	"fmt"

	"slkstream/solver"
)

// Settings say how a stream answers and what it learns.
type Settings struct {
	Solver solver.Settings
	Warm   bool // learn from episode to episode
}

// Example is a labelled embedding, known by its id: teaching the same id again corrects it.
type Example struct {
	ID, Label string
	Vector    []float32
}

// Item is one embedding of an episode. Its Label, where there is one, teaches.
type Item struct {
	ID     string
	Vector []float32
	Label  string
}

// Answer is what the stream says of one Item.
type Answer struct {
	Label        string
	Confidence   float64
	Calibrated   bool
	Unknown      bool
	UnknownScore float64
	Alternatives []Alternative
}

// Alternative is another label an item might have had.
type Alternative struct {
	Label      string
	Confidence float64
}

// Report is the audit of one episode.
type Report struct {
	Episode       int64
	Count         int
	Iterations    int
	Before, After float64 // the objective R
	Warm          bool
	Admitted      int
}

// Labels is what the labels topic says at one moment: examples for every stream, and for single ones. It is never
// changed, only replaced, so that any number of streams may read it at once.
type Labels struct {
	Everyone []Example
	Stream   map[string][]Example
}

// Stream answers the episodes of one stream, in order, and remembers. One goroutine uses it at a time.
type Stream struct {
	Name     string
	settings Settings
	episode  int64
	anchors  []Example // labelled items of this stream itself
}

// New is a stream that remembers nothing yet.
func New(name string, s Settings) *Stream { return &Stream{Name: name, settings: s} }

// Answer labels one episode and learns from it: graph, solve, remember.
func (s *Stream) Answer(ctx context.Context, solve *solver.Solver, items []Item, labels *Labels) ([]Answer, Report, error) {
	if len(items) == 0 {
		return nil, Report{}, fmt.Errorf("stream %s: an episode has at least one item", s.Name)
	}
	d := len(items[0].Vector)
	p := &solver.Problem{N: len(items), D: d}
	var names []string
	class := map[string]int32{}
	number := func(label string) int32 {
		c, ok := class[label]
		if !ok {
			c = int32(len(names))
			class[label] = c
			names = append(names, label)
		}
		return c
	}
	anchor := func(examples []Example) {
		for _, e := range examples {
			p.Anchors = append(p.Anchors, e.Vector...)
			p.AnchorLabels = append(p.AnchorLabels, number(e.Label))
		}
	}
	if labels != nil {
		anchor(labels.Everyone)
		anchor(labels.Stream[s.Name])
	}
	anchor(s.anchors)
	for _, item := range items {
		p.Rows = append(p.Rows, item.Vector...)
		if item.Label == "" {
			p.Labels = append(p.Labels, -1)
			continue
		}
		p.Labels = append(p.Labels, number(item.Label))
		if s.settings.Warm {
			s.anchors = append(s.anchors, Example{item.ID, item.Label, item.Vector})
		}
	}
	if p.K = len(names); p.K == 0 {
		return nil, Report{}, fmt.Errorf("stream %s: no labelled example yet", s.Name)
	}
	r, err := solve.Solve(ctx, p)
	if err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	s.episode++
	out := make([]Answer, len(items))
	for i := range out {
		out[i] = Answer{Label: names[r.Labels[i]], Confidence: float64(r.S[i*p.K+int(r.Labels[i])])}
	}
	return out, Report{Episode: s.episode, Count: len(items), Iterations: r.Iterations, Before: r.ObjectiveBefore, After: r.ObjectiveAfter, Warm: s.settings.Warm}, nil
}
