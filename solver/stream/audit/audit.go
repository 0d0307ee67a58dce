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
func Labels(ctx context.Context, engine *stream.Engine, settings stream.Settings, labels *taught.Labels) (
	doubts []Doubt, alone int, err error,
) {
	examples := map[string][]taught.Example{} // of each stream
	for name, e := range labels.All() {
		examples[name] = append(examples[name], *e)
	}
	a := audit{engine: engine, settings: settings}
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		var also []taught.Example
		if name != "" {
			also = examples[""]
		}
		if err := a.stream(ctx, name, examples[name], also); err != nil {
			return nil, 0, err
		}
	}
	slices.SortStableFunc(a.doubts, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Label, b.Label),
			cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.ID, b.ID))
	})
	return a.doubts, a.alone, nil
}

// audit is what an audit has found so far.
type audit struct {
	engine   *stream.Engine
	settings stream.Settings
	doubts   []Doubt
	alone    int
}

// stream audits the examples of one stream. also are the examples for every stream: in force, not audited.
func (a *audit) stream(ctx context.Context, name string, examples, also []taught.Example) error {
	type group struct { // of examples that can be compared
		model     string
		dimension int
		label     string
		fold      int
	}
	of := func(e *taught.Example) group { return group{model: e.Model, dimension: len(e.Vector), label: e.Label} }
	count, rank, parts := map[group]int{}, map[group]int{}, map[group][]taught.Example{}
	all := slices.Concat(also, examples)
	for i := range all {
		count[of(&all[i])]++
	}
	for i := range examples {
		at := of(&examples[i])
		if count[at] == 1 {
			a.alone++
			continue
		}
		fold := rank[at] % auditFolds // a small class loses one example at a time
		rank[at]++
		at.label, at.fold = "", fold
		parts[at] = append(parts[at], examples[i])
	}
	for _, left := range parts {
		for some := range slices.Chunk(left, 100) {
			if err := a.part(ctx, name, some, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// part answers some examples, all of one model, as one episode of a new stream with the rest of all in force.
func (a *audit) part(ctx context.Context, name string, some, all []taught.Example) error {
	out := make(map[string]bool, len(some))
	items := make([]stream.Item, len(some))
	for i, e := range some {
		out[e.ID] = true
		items[i] = stream.Item{Vector: e.Vector, Model: e.Model, Position: stream.Position{Offset: int64(i), Object: -1}}
	}
	labels := &taught.Labels{}
	for _, e := range all {
		if !out[e.ID] {
			labels.Everyone = append(labels.Everyone, e)
		}
	}
	answers, _, err := stream.New(name, a.settings).Answer(ctx, a.engine, items, labels)
	if err != nil {
		return err
	}
	for i, x := range answers {
		if e := &some[i]; x.Label != e.Label {
			a.doubts = append(a.doubts, Doubt{Stream: name, ID: e.ID, Label: e.Label, Says: x.Label, Confidence: x.Confidence})
		}
	}
	return nil
}
