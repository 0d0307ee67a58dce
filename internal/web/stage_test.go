package web

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// fakeStage is a stage of a test. What is left out is empty.
type fakeStage struct {
	classes      []string
	dimension    int
	names        []record.Name
	examples     []record.Example
	rejections   []record.NotThis
	status       func() pipeline.Summary
	example      func(id string) (record.Example, bool)
	counts       func() (examples, rejections map[string]int)
	strangers    func() ([]recent.Stranger, error)
	wouldCorrect func([]record.Example) []recent.Corrected
	ask          func(stream, model string, vectors [][]float32) ([]stream.Answer, error)
	enter        func(stream string, vectors [][]float32) error
	owner        func(stream string) (string, error)
	remembered   []string
	elsewhere    []string
	linked       []labels.Linked
	version      *labels.Version
}

// pageOf returns the page of a stage.
func pageOf(o Options, s fakeStage) *Page {
	p := New(o)
	p.stage = &s
	return p
}

func (s *fakeStage) Dimension(string) int               { return s.dimension }
func (s *fakeStage) Classes() []string                  { return s.classes }
func (s *fakeStage) Names() []record.Name               { return s.names }
func (s *fakeStage) Examples() iter.Seq[record.Example] { return slices.Values(s.examples) }
func (s *fakeStage) Rejections() []record.NotThis       { return s.rejections }
func (s *fakeStage) Current() *labels.Version           { return s.version }

func (s *fakeStage) Status() pipeline.Summary {
	if s.status == nil {
		return pipeline.Summary{}
	}
	return s.status()
}

func (s *fakeStage) Example(id string) (record.Example, bool) {
	if s.example == nil {
		return record.Example{}, false
	}
	return s.example(id)
}

func (s *fakeStage) Counts() (examples, rejections map[string]int) {
	if s.counts == nil {
		return nil, nil
	}
	return s.counts()
}

func (s *fakeStage) Strangers(context.Context) ([]recent.Stranger, error) {
	if s.strangers == nil {
		return nil, nil
	}
	return s.strangers()
}

func (s *fakeStage) WouldCorrect(ctx context.Context, list []record.Example) ([]recent.Corrected, error) {
	if s.wouldCorrect == nil {
		return nil, ctx.Err()
	}
	return s.wouldCorrect(list), ctx.Err()
}

func (s *fakeStage) Ask(name, model string, vectors [][]float32) ([]stream.Answer, error) {
	if s.ask == nil {
		return nil, errors.New("it answers nothing")
	}
	return s.ask(name, model, vectors)
}

func (s *fakeStage) Enter(_ context.Context, stream, _ string, vectors [][]float32) error {
	if s.enter == nil {
		return nil
	}
	return s.enter(stream, vectors)
}

func (s *fakeStage) Linked() []labels.Linked                     { return s.linked }
func (s *fakeStage) Remembered() []string                        { return slices.Clone(s.remembered) }
func (s *fakeStage) Elsewhere(context.Context) ([]string, error) { return s.elsewhere, nil }

func (s *fakeStage) Owner(_ context.Context, stream string) (string, error) {
	if s.owner == nil {
		return "", nil
	}
	return s.owner(stream)
}
