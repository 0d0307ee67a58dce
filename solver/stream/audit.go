package stream

import (
	"cmp"
	"context"
	"slices"
)

// Doubt is a labelled example whose label is not what the other examples say of it.
type Doubt struct {
	Stream     string // whose example it is; empty: it is everyone's
	ID, Label  string
	Says       string  // the label that it would be given without its own
	Confidence float64 // of Says
}

// auditFolds is how many parts the examples of a class are left out in: each is answered with the other nine tenths in force.
const auditFolds = 10

// Audit answers every labelled example by the others and returns those that get another label, stream by stream and class
// by class, each worst first. An example that is alone in its class cannot be told wrong: alone counts those. Examples of
// different models are never held against each other. The labels are not changed.
func Audit(ctx context.Context, engine *Engine, settings Settings, labels *Labels) (doubts []Doubt, alone int, err error) {
	audit := func(name string, examples, also []Example) error {
		found, single, err := auditList(ctx, engine, settings, name, examples, also)
		doubts, alone = append(doubts, found...), alone+single
		return err
	}
	labels.prepare()
	everyone := labels.everyone.list()
	if err := audit("", everyone, nil); err != nil {
		return nil, 0, err
	}
	for own := range labels.streams.All() {
		if err := audit(own.stream, own.list(), everyone); err != nil {
			return nil, 0, err
		}
	}
	slices.SortStableFunc(doubts, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Label, b.Label), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.ID, b.ID))
	})
	return doubts, alone, nil
}

func (s *exampleSet) list() (list []Example) {
	for e := range s.all() {
		list = append(list, e.Example)
	}
	return list
}

// auditList audits the examples of one stream beside those that are everyone's, also.
func auditList(ctx context.Context, engine *Engine, settings Settings, name string, examples, also []Example) (doubts []Doubt, alone int, err error) {
	type kind struct {
		model     string
		dimension int
	}
	type class struct {
		kind
		label string
	}
	of := map[class]int{} // how many examples a class has
	for _, e := range slices.Concat(examples, also) {
		of[class{kind{e.Model, len(e.Vector)}, e.Label}]++
	}
	rank := map[class]int{}
	folds := map[kind][][]Example{}
	for _, e := range examples {
		c := class{kind{e.Model, len(e.Vector)}, e.Label}
		if of[c] == 1 {
			alone++
			continue
		}
		if folds[c.kind] == nil {
			folds[c.kind] = make([][]Example, auditFolds)
		}
		fold := rank[c] % auditFolds // so that a class of few loses one at a time
		rank[c]++
		folds[c.kind][fold] = append(folds[c.kind][fold], e)
	}
	for kind, list := range folds {
		for _, left := range list {
			for part := range slices.Chunk(left, 100) {
				found, err := auditPart(ctx, engine, settings, name, part, slices.Concat(also, examples), kind.model)
				if err != nil {
					return nil, 0, err
				}
				doubts = append(doubts, found...)
			}
		}
	}
	return doubts, alone, nil
}

// auditPart answers the examples that are left out as one episode of a stream that knows the others.
func auditPart(ctx context.Context, engine *Engine, settings Settings, name string, left, all []Example, model string) ([]Doubt, error) {
	out := make(map[string]bool, len(left))
	items := make([]Item, len(left))
	for i, e := range left {
		out[e.ID] = true
		items[i] = Item{Vector: e.Vector, Model: model, Position: Position{Offset: int64(i), Object: -1}}
	}
	labels := &Labels{}
	for _, e := range all {
		if !out[e.ID] {
			labels.Everyone = append(labels.Everyone, e)
		}
	}
	answers, _, err := New(name, settings).Answer(ctx, engine, items, labels)
	if err != nil {
		return nil, err
	}
	var doubts []Doubt
	for i, a := range answers {
		if a.Label != left[i].Label {
			doubts = append(doubts, Doubt{Stream: name, ID: left[i].ID, Label: left[i].Label, Says: a.Label, Confidence: a.Confidence})
		}
	}
	return doubts, nil
}
