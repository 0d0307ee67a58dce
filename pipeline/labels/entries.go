package labels

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Entry is a record of the labels topic.
type Entry struct {
	record.Label
	Partition int32
	Offset    int64
	Written   time.Time // the record's timestamp
	Key       string
	Holds     bool     // in force: neither replaced by a later record of its key nor forgotten
	Called    []string // the names of its class, from the given one to the one in use; nil: no other name
}

// Class is the entry's label, name or reset class; "" for rejections and orders.
func (e *Entry) Class() string {
	switch {
	case e.Teach != nil:
		return e.Teach.Label
	case e.Name != nil:
		return e.Name.Name
	case e.Reset != nil:
		return e.Reset.Class
	}
	return ""
}

// Stream is the stream that the entry applies to; "": all.
func (e *Entry) Stream() string {
	switch {
	case e.Teach != nil:
		return e.Teach.Stream
	case e.Not != nil:
		return e.Not.Stream
	case e.Name != nil:
		return e.Name.Stream
	case e.Reset != nil:
		return e.Reset.Stream
	case e.Order != nil:
		return e.Order.Stream
	}
	return ""
}

// ReadEntries lists the records of a labels topic, oldest first. Records that cannot be used are
// logged and skipped.
func ReadEntries(
	ctx context.Context, client *topic.Client, name string, decode record.Options, log *slog.Logger,
) ([]Entry, error) {
	l := New(Options{Client: client, Topic: name, Decode: decode, Log: log})
	spans, err := l.spans(ctx)
	if err != nil {
		return nil, fmt.Errorf("labels topic %s: %w", name, err)
	}
	records, err := l.begin(len(spans))
	if err != nil {
		return nil, err
	}
	records.room = math.MaxInt
	var entries []Entry
	added := map[*Record]int{}
	err = l.load(ctx, records, spans, nil, func(r *record.Raw, what record.Label, kept *Record) {
		entry := Entry{
			Label: what, Partition: r.Partition, Offset: r.Offset, Written: r.Time, Key: string(r.Key), Holds: true,
		}
		if kept != nil {
			entry.Key = kept.Key
			added[kept] = len(entries)
		}
		entries = append(entries, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("labels topic %s: %w", name, err)
	}
	v := records.version(records.root, records.next)
	for i := range entries {
		if o := entries[i].Order; o != nil {
			entries[i].Holds = records.given[o.Key()].order == o
		}
	}
	for r, i := range added {
		e := &entries[i]
		e.Holds = records.holds(r.Key, records.next) == r && v.naming.faults[r] == nil
		if class := e.Class(); class != "" {
			if e.Holds && (r.Name == nil || r.Name.Into != "") {
				e.Holds = !v.naming.cut(r.stream, class, r)
			}
			if chain := slices.Collect(v.naming.given.Chain(r.stream, class)); len(chain) > 1 {
				e.Called = chain
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.Offset, b.Offset))
	})
	return entries, nil
}
