// Package pipeline is the straight line: episode, graph, solve, remember, results. consumer feeds it, producer carries
// its answers away.
package pipeline

import (
	"context"

	"slkstream/consumer"
	"slkstream/internal/memory"
	"slkstream/internal/record"
)

// Line answers the episodes of any number of streams; one goroutine uses it at a time.
type Line struct {
	settings memory.Settings
	engine   *memory.Engine
	streams  map[string]*memory.Stream
}

// NewLine returns a line with no memory yet.
func NewLine(s memory.Settings) (*Line, error) {
	engine, err := memory.NewEngine(s)
	if err != nil {
		return nil, err
	}
	return &Line{s, engine, map[string]*memory.Stream{}}, nil
}

// Answer takes one episode down the line.
func (l *Line) Answer(ctx context.Context, e *consumer.Episode, labels *memory.Labels) ([]record.Result, error) {
	s := l.streams[e.Stream]
	if s == nil {
		s = memory.New(e.Stream, l.settings)
		l.streams[e.Stream] = s
	}
	items := make([]memory.Item, len(e.Items))
	for i, it := range e.Items {
		items[i] = memory.Item{ID: it.ItemID, Vector: it.Vector, Label: it.Label}
	}
	answers, report, err := s.Answer(ctx, l.engine, items, labels)
	if err != nil {
		return nil, err
	}
	results := make([]record.Result, len(answers))
	for i, a := range answers {
		it := &e.Items[i]
		results[i] = record.Result{ID: it.Source.ID(), ItemID: it.ItemID, Stream: it.Stream, Episode: report.Episode, Label: a.Label,
			Confidence: a.Confidence, Calibrated: a.Calibrated, Unknown: a.Unknown, UnknownScore: a.UnknownScore, Time: it.Time,
			Model: it.Model, Attributes: it.Attributes,
			Source: record.ResultSource{Topic: it.Source.Topic, Partition: it.Source.Partition, Offset: it.Source.Offset}}
	}
	return results, nil
}
