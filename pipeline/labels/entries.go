package labels

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Entry is a record of the labels topic, as it is in force now.
type Entry struct {
	*Record
	Holds  bool     // neither replaced by a later record of its key nor forgotten
	Unused string   // why it is not in force although it holds; "": it is
	Called []string // the names of its class, from the given one to the one in use; nil: no other name
}

// After says whether the entry counts as later than another.
func (e *Entry) After(x *Entry) bool { return e.after(x.Record) }

// MostExamples bounds the examples of a labels topic that are in force.
const MostExamples = 100_000

// ReadEntries lists the records of a labels topic, oldest first. Records that cannot be used are
// logged and skipped.
func ReadEntries(
	ctx context.Context, client *topic.Client, name string, decode record.Options, log *slog.Logger,
) ([]Entry, error) {
	return readEntries(ctx, Options{Client: client, Topic: name, Decode: decode, Most: MostExamples, Log: log})
}

func readEntries(ctx context.Context, o Options) ([]Entry, error) {
	l := New(o)
	spans, err := l.spans(ctx)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	all := func(r *Record) { entries = append(entries, Entry{Record: r}) }
	records, err := l.load(ctx, spans, math.MaxInt, nil, all)
	if err != nil {
		return nil, err
	}
	v := records.version(records.root, records.next)
	for i := range entries {
		e := &entries[i]
		if e.Reset != nil {
			e.Holds = true
			continue
		}
		e.Holds = records.holds(e.Key, records.next) == e.Record
		if class := e.Class(); class != "" {
			if e.Holds && (e.Name == nil || e.Name.Into != "") {
				e.Holds = !v.naming.cut(e.Stream(), class, e.Record) &&
					(e.Name == nil || !v.naming.cut(e.Stream(), e.Name.Into, e.Record))
			}
			if chain := slices.Collect(v.naming.given.Chain(e.Stream(), class)); len(chain) > 1 {
				e.Called = chain
			}
		}
	}
	unused(entries, v)
	slices.SortFunc(entries, func(a, b Entry) int { return a.before(b.Record) })
	return entries, nil
}

// unused sets Unused of faulty names, of examples beyond the bound, and of what has another dimension than
// most examples of its model: those, a stage uses only if its feed has that dimension.
func unused(entries []Entry, v *Version) {
	most := LabelledDimensions(v.Labels.All())
	for i := range entries {
		e := &entries[i]
		fault := v.naming.faults[e.Record]
		model, dimension := e.space()
		switch d := most[model].Dimension; {
		case !e.Holds:
		case fault != nil:
			e.Unused = fault.Error()
		case e.Teach != nil && v.oldest != nil && e.precedes(v.oldest) < 0:
			e.Unused = fmt.Sprintf("%d others are in force", v.standing.Len()-v.leftOut)
		case dimension > 0 && d > 0 && d != dimension:
			e.Unused = fmt.Sprintf("%d numbers, most have %d", dimension, d)
		}
	}
}

// space is the model and the dimension of an example or a rejection; 0: the record is neither.
func (r *Record) space() (model string, dimension int) {
	switch {
	case r.Teach != nil:
		return r.Teach.Model, len(r.Teach.Vector)
	case r.Not != nil:
		return r.Not.Model, len(r.Not.Vector)
	}
	return "", 0
}
