package labels

import (
	"fmt"
	"iter"
	"strconv"
	"sync"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// agreed holds the dimension on which the feed's records agree, by model. Examples of another dimension
// cannot be used.
type agreed struct {
	dimensions sync.Map      // int by record.DimensionKey
	changed    chan struct{} // holds one value after a change
}

// Agree sets the dimensions on which a partition's records agree, by model or record.DimensionKey.
func (l *Topic) Agree(dimensions map[string]int) {
	for model, d := range dimensions {
		if before, _ := l.agreed.dimensions.Swap(record.DimensionKey(model), d); before != d {
			select {
			case l.agreed.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Dimension returns the dimension of a model's vectors; 0: not known.
func (l *Topic) Dimension(model string) int {
	d, _ := l.agreed.dimensions.Load(record.DimensionKey(model))
	known, _ := d.(int)
	return known
}

// misfit returns the dead letter of an example or rejection whose dimension is not the feed's, once for each
// record. Streams leave out such a record and use the others.
func (l *Topic) misfit(r *Record) (letter record.Out, bad bool) {
	model, dimension := r.space()
	d := l.Dimension(model)
	if r.told || dimension == 0 || d == 0 || d == dimension {
		return letter, false
	}
	what := "example"
	if r.Not != nil {
		what = "rejection"
	}
	return l.letter(r, fmt.Sprintf("the %s has dimension %d, and the feed's vectors of model %s have %d",
		what, dimension, strconv.Quote(model), d)), true
}

// LabelledDimension is a dimension of a model's labelled examples, and the number of these.
type LabelledDimension struct{ Dimension, Examples int }

// LabelledDimensions returns for each model the dimension of most examples; of equals, the smallest.
func LabelledDimensions(examples iter.Seq2[string, *taught.Example]) map[string]LabelledDimension {
	type space struct {
		model     string
		dimension int
	}
	counts, most := map[space]int{}, map[string]LabelledDimension{}
	for _, e := range examples {
		counts[space{e.Model, len(e.Vector)}]++
	}
	for at, n := range counts {
		if best := most[at.model]; n > best.Examples || n == best.Examples && at.dimension < best.Dimension {
			most[at.model] = LabelledDimension{at.dimension, n}
		}
	}
	return most
}

// letter makes the dead letter of a record that cannot be in force, and marks the record as reported.
func (l *Topic) letter(r *Record, reason string) record.Out {
	r.told = true
	l.options.Log.Warn("a record of the labels topic is not in force", "topic", l.options.Topic,
		"partition", r.Partition, "offset", r.Offset, "id", r.Key, "reason", reason)
	var out record.Out
	switch {
	case r.Not != nil:
		out = record.Not(l.options.Topic, r.Not)
	case r.Name != nil:
		out = record.NameRecord(l.options.Topic, r.Name)
	default:
		example := r.taught()
		out = record.Teach(l.options.Topic, &example)
	}
	raw := record.Raw{
		Topic: l.options.Topic, Partition: int32(r.Partition), Offset: r.Offset, Key: out.Key, Value: out.Value,
		Headers: out.Headers, Time: r.Written,
	}
	return record.DeadLetter(l.options.Dead, &raw, reason, 0)
}

// misfits returns the dead letters of all examples and rejections that do not fit the feed and have none yet.
func (l *Topic) misfits(v *Version) (letters []record.Out) {
	for _, list := range []ordered.List[*Record]{v.standing, v.said} {
		for r := range list.All() {
			if letter, bad := l.misfit(r); bad {
				letters = append(letters, letter)
			}
		}
	}
	return letters
}
