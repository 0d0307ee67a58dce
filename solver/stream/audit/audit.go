// Package audit finds labelled examples that the others contradict.
package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Doubt is a labelled example to which the other examples give another label.
type Doubt struct {
	Stream     string // that the example is for; "": for every stream
	ID, Label  string
	Says       string  // the label that the other examples give it
	Confidence float64 // of Says
}

// auditFolds is the number of parts that the examples of a class are split into: each part is answered with
// the others in force.
const auditFolds = 10

// Labels answers every labelled example with the others in force and returns those that get another label, by
// stream, then class, the most confident first. An example that is alone in its class cannot be judged: alone
// counts those. Examples of different models are never compared. The labels are not changed.
func Labels(
	ctx context.Context,
	engine *stream.Engine,
	settings stream.Settings,
	labels *taught.Labels,
) (doubts []Doubt, alone int, err error) {
	audit := func(name string, examples, also []taught.Example) error {
		found, single, err := auditList(ctx, engine, settings, name, examples, also)
		doubts, alone = append(doubts, found...), alone+single
		return err
	}
	examples := map[string][]taught.Example{} // of each stream
	for name, e := range labels.All() {
		examples[name] = append(examples[name], *e)
	}
	everyone := examples[""]
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		also := everyone
		if name == "" {
			also = nil
		}
		if err := audit(name, examples[name], also); err != nil {
			return nil, 0, err
		}
	}
	slices.SortStableFunc(doubts, func(a, b Doubt) int {
		return cmp.Or(
			cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(a.Label, b.Label),
			cmp.Compare(b.Confidence, a.Confidence),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return doubts, alone, nil
}

// auditList audits the examples of one stream. also are the examples for every stream: in force, not audited.
func auditList(
	ctx context.Context,
	engine *stream.Engine,
	settings stream.Settings,
	name string,
	examples, also []taught.Example,
) (doubts []Doubt, alone int, err error) {
	type class struct {
		model     string
		dimension int
		label     string
	}
	type part struct {
		model     string
		dimension int
		fold      int
	}
	of, rank, folds := map[class]int{}, map[class]int{}, map[part][]taught.Example{}
	for _, e := range slices.Concat(examples, also) {
		of[class{e.Model, len(e.Vector), e.Label}]++
	}
	for _, e := range examples {
		c := class{e.Model, len(e.Vector), e.Label}
		if of[c] == 1 {
			alone++
			continue
		}
		at := part{e.Model, len(e.Vector), rank[c] % auditFolds} // a small class loses one example at a time
		rank[c]++
		folds[at] = append(folds[at], e)
	}
	for of, left := range folds {
		for some := range slices.Chunk(left, 100) {
			found, err := auditPart(ctx, engine, settings, name, some, slices.Concat(also, examples), of.model)
			if err != nil {
				return nil, 0, err
			}
			doubts = append(doubts, found...)
		}
	}
	return doubts, alone, nil
}

// auditPart answers the examples of left as one episode of a new stream with the rest of all in force.
func auditPart(
	ctx context.Context,
	engine *stream.Engine,
	settings stream.Settings,
	name string,
	left, all []taught.Example,
	model string,
) ([]Doubt, error) {
	out := make(map[string]bool, len(left))
	items := make([]stream.Item, len(left))
	for i, e := range left {
		out[e.ID] = true
		items[i] = stream.Item{Vector: e.Vector, Model: model, Position: stream.Position{Offset: int64(i), Object: -1}}
	}
	labels := &taught.Labels{}
	for _, e := range all {
		if !out[e.ID] {
			labels.Everyone = append(labels.Everyone, e)
		}
	}
	answers, _, err := stream.New(name, settings).Answer(ctx, engine, items, labels)
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
