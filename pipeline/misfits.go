package pipeline

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
)

// agreed holds the dimension on which the feed's records agree, by model. Examples of another dimension
// cannot be used.
type agreed struct {
	dimensions sync.Map      // int by string
	changed    chan struct{} // holds one value after a change
}

// agree sets the dimensions on which a partition's records agree.
func (a *agreed) agree(dimensions map[string]int) {
	for model, d := range dimensions {
		if before, _ := a.dimensions.Swap(model, d); before != d {
			select {
			case a.changed <- struct{}{}:
			default:
			}
		}
	}
}

// of returns the dimension of a model's vectors; 0: not known.
func (a *agreed) of(model string) int {
	d, _ := a.dimensions.Load(model)
	known, _ := d.(int)
	return known
}

// misfit returns the dead letter of an example or rejection whose dimension is not the feed's, once for each
// record. Streams leave out such a record and use the others.
func (l *labels) misfit(r *labelRecord) (letter record.Out, bad bool) {
	var what, model string
	var dimension int
	switch {
	case r == nil || r.told:
		return letter, false
	case r.teach != nil:
		what, model, dimension = "example", r.teach.Model, len(r.teach.Vector)
	case r.not != nil:
		what, model, dimension = "rejection", r.not.Model, len(r.not.Vector)
	default:
		return letter, false
	}
	d := l.agreed.of(model)
	if d == 0 || d == dimension {
		return letter, false
	}
	return l.letter(r, fmt.Sprintf("the %s has dimension %d, and the feed's vectors of model %s have %d",
		what, dimension, strconv.Quote(model), d)), true
}

// letter makes the dead letter of a record that cannot be in force, and marks the record as reported.
func (l *labels) letter(r *labelRecord, reason string) record.Out {
	r.told = true
	l.log.Warn("a record of the labels topic is not in force", "topic", l.topic, "partition", r.partition,
		"offset", r.offset, "id", r.key, "reason", reason)
	var out record.Out
	switch {
	case r.not != nil:
		out = record.Not(l.topic, r.not)
	case r.name != nil:
		out = record.NameRecord(l.topic, r.name)
	default:
		out = record.Teach(l.topic, &record.Example{
			ID: r.key, Stream: r.stream, Label: r.teach.Label, Model: r.teach.Model, Vector: r.teach.Vector, By: r.by,
		})
	}
	raw := record.Raw{
		Topic: l.topic, Partition: int32(r.partition), Offset: r.offset, Key: out.Key, Value: out.Value,
		Headers: out.Headers, Time: r.at,
	}
	return record.DeadLetter(l.dead, &raw, reason, 0)
}

// misfits returns the dead letters of all examples and rejections that do not fit the feed and have none yet.
func (l *labels) misfits(v *view) (letters []record.Out) {
	for _, list := range []ordered.List[*labelRecord]{v.standing, v.said} {
		for r := range list.All() {
			if letter, bad := l.misfit(r); bad {
				letters = append(letters, letter)
			}
		}
	}
	return letters
}
