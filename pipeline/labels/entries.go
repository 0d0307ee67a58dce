package labels

import (
	"context"
	"log/slog"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Entry is a record of the labels topic, as it is in force now.
type Entry struct {
	*Record
	Holds  bool     // in force: neither replaced by a later record of its key nor forgotten
	Called []string // the names of its class, from the given one to the one in use; nil: no other name
}

// ReadEntries lists the records of a labels topic, oldest first. Records that cannot be used are
// logged and skipped.
func ReadEntries(
	ctx context.Context, client *topic.Client, name string, decode record.Options, log *slog.Logger,
) ([]Entry, error) {
	l := New(Options{Client: client, Topic: name, Decode: decode, Log: log})
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
		switch {
		case e.Reset != nil, record.IsOrder(e.Forget):
			e.Holds = true
			continue
		case e.Order != nil:
			e.Holds = records.given[e.Order.Key()] == e.Record
			continue
		}
		e.Holds = records.holds(e.Key, records.next) == e.Record && v.naming.faults[e.Record] == nil
		if class := e.Class(); class != "" {
			if e.Holds && (e.Name == nil || e.Name.Into != "") {
				e.Holds = !v.naming.cut(e.Stream(), class, e.Record)
			}
			if chain := slices.Collect(v.naming.given.Chain(e.Stream(), class)); len(chain) > 1 {
				e.Called = chain
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.before(b.Record) })
	return entries, nil
}
