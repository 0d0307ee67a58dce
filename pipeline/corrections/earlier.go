package corrections

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// earlier holds the latest items that previous owners of a partition answered. A new owner reads them from
// the results topic, and their later names from the corrections topic, so that it can correct them like its
// own items. They have no vectors: new names and new labels of the items themselves correct them, labels of
// similar items do not.
type earlier struct {
	*extension.Earlier
	written   []topic.Span      // results and corrections when the partition was assigned
	read      chan earlierRead  // nil: not reading
	called    map[string]string // the latest label in the topics, by ID, of items that are read again
	taken     bool              // the items were added to recent
	readAgain bool              // such items were added to recent and await correction
}

// earlierRead is the outcome of reading them.
type earlierRead struct {
	items []earlierItem
	err   error
}

// earlierItem is an item of a previous owner.
type earlierItem struct {
	recent.Item
	// As of which positions of the labels its answer, and its label, are: they came after what these cover.
	said, called labels.Position
}

// readEarlier starts reading the items of previous owners, as far back as recent items may reach.
func (r *Partition) readEarlier(ctx context.Context) {
	if r.earlier == nil || r.earlier.taken {
		return
	}
	read, written := make(chan earlierRead, 1), r.earlier.written
	r.earlier.read = read
	go func() {
		items, err := r.earlierItems(ctx, written)
		if ctx.Err() == nil {
			read <- earlierRead{items, err}
		}
	}()
}

// earlierBytes is the approximate size of a previous owner's item.
const earlierBytes = 512

// earlierItems returns the latest items of a partition that have results, in the order of their records.
func (r *Partition) earlierItems(ctx context.Context, written []topic.Span) ([]earlierItem, error) {
	most := r.settings.Store.Share() / earlierBytes
	id := fmt.Appendf(nil, `"%s/`, r.of) // the start of the partition's item IDs in a record
	var items []earlierItem
	at := map[string]int{}
	err := r.readLast(ctx, written, r.settings.Results, most, id, func(raw *record.Raw) {
		var said record.Result
		if json.Unmarshal(r.settings.Form.JSON(raw.Value), &said) != nil || said.Settled != nil {
			return
		}
		from, ok := record.ParseID(said.ID)
		if !ok || from.Topic != r.of.Topic || from.Partition != r.of.Partition {
			return
		}
		item := record.Item{ItemID: said.ItemID, Stream: said.Stream, Source: from}
		if said.Confidence == 1 && said.UnknownScore == 0 && said.Alternatives == nil {
			item.Label = said.Label // as are the results of items that carried their labels
		}
		class := cmp.Or(said.Class, said.Label)
		asOf := labels.PositionOf(raw)
		it := earlierItem{said: asOf, called: asOf, Item: recent.Item{
			ID: said.ID, Name: item.Name(), ItemID: said.ItemID, Key: bytes.Clone(raw.Key), Stream: said.Stream,
			Model: said.Model, Label: said.Label, Class: class, Confidence: said.Confidence, Said: class,
			SaidConfidence: said.Confidence, Unknown: said.Unknown, Taught: item.Label != "", Time: said.Time,
		}}
		if i, known := at[said.ID]; known {
			items[i] = it
			return
		}
		at[said.ID] = len(items)
		items = append(items, it)
	})
	if err != nil {
		return nil, err
	}
	revisions := map[string]int64{}
	err = r.readLast(ctx, written, r.settings.Corrections, 2*most, id, func(raw *record.Raw) {
		var c record.Correction
		i, known := 0, false
		if json.Unmarshal(raw.Value, &c) == nil {
			i, known = at[c.ID]
		}
		if !known || c.Revision < revisions[c.ID] {
			return
		}
		revisions[c.ID] = c.Revision
		it := &items[i]
		it.Label, it.Confidence, it.called = c.New.Label, c.New.Confidence, labels.PositionOf(raw)
		class := cmp.Or(c.New.Class, c.New.Label)
		switch c.Cause.Kind {
		case "taught":
			it.Class, it.Cause = class, c.Cause.ID
		case "answered again":
			it.Class, it.Cause = class, ""
			it.Said, it.SaidConfidence, it.said = class, c.New.Confidence, it.called
		case "rejected", "forgotten":
			it.Class, it.Cause = it.Said, ""
		}
		if c.New.Label == "" {
			it.Class = "" // its name was forgotten, and no other name replaces it
		}
	})
	position := func(it *earlierItem) record.Position {
		from, _ := record.ParseID(it.ID)
		return from.Position()
	}
	slices.SortStableFunc(items, func(a, b earlierItem) int {
		x, y := position(&a), position(&b)
		return cmp.Or(cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.Object, y.Object))
	})
	return items[max(0, len(items)-int(most)):], err
}

// readLast reads the last records of each partition of a topic, of what was written, and calls take with those that
// contain the given bytes.
func (r *Partition) readLast(
	ctx context.Context, written []topic.Span, name string, most int64, contains []byte, take func(*record.Raw),
) error {
	for _, span := range written {
		if span.Topic != name {
			continue
		}
		// Retention may have moved it since.
		first, err := r.settings.Client.Offset(ctx, name, span.Partition, topic.Earliest, false)
		if err != nil {
			return err
		}
		span.From = max(first, span.To-most)
		for raw, err := range r.settings.Client.Records(ctx, span) {
			if err != nil {
				return err
			}
			if bytes.Contains(raw.Value, contains) {
				take(raw)
			}
		}
	}
	return nil
}

// takeEarlier puts previous owners' items before the owner's own recent items, and corrects those to which
// the current labels give another name, once they are read.
func (r *Partition) takeEarlier(to *labels.Version) {
	e := r.earlier
	if e == nil || r.correcting != nil {
		return
	}
	var read earlierRead
	select {
	case read = <-e.read: // nil: not reading
		e.read = nil
	default:
		return
	}
	if read.err != nil {
		r.earlier = nil
		r.log.Warn("results of earlier owners cannot be read: labels correct only later results", "error", read.err)
		return
	}
	e.taken = true
	var kept []recent.Item
	for i := range read.items {
		it := &read.items[i]
		from, _ := record.ParseID(it.ID)
		if e.Again(record.StreamID{Name: it.Stream, Model: it.Model}, from.Position()) {
			e.called[it.ID] = it.Label
			continue
		}
		was := recent.Corrected{Was: it.Label, WasConfidence: it.Confidence}
		kind, by := r.relabel(to, it)
		if it.Label != was.Was {
			was.Item = it.Item
			r.tellCorrections([]recent.Corrected{was}, to, kind,
				func(*recent.Corrected) *labels.Record { return by })
		}
		if it.Class != "" {
			kept = append(kept, it.Item)
		}
	}
	r.recent.Before(kept, to.Next)
	for _, b := range r.recent.Blocks() {
		r.setLastKnown(b)
	}
	r.recent.DropForgotten()
}

// relabel sets an item's label by the current labels, and returns the kind of correction and the record
// that caused it. An item whose class or name was forgotten since is left without a class.
func (r *Partition) relabel(to *labels.Version, it *earlierItem) (kind string, by *labels.Record) {
	if it.Class == "" {
		return "", nil
	}
	if f := to.Forgot(it.called, it.Stream, it.Class, it.Label); f != nil {
		it.Class, it.Label, it.Confidence = "", "", 0
		return "forgotten", f
	}
	if it.Said != it.Class && to.Forgot(it.said, it.Stream, it.Said) != nil {
		it.Said, it.SaidConfidence = "", 0
	}
	l := r.settings.Labels
	kind = "renamed"
	itself := record.ItemKey(it.ID)
	for _, id := range []string{it.Name, itself, it.ID, it.Cause} {
		if id == "" {
			continue
		}
		found, last := l.InForce(to, id)
		if found.Example != nil && (found.Stream == "" || found.Stream == it.Stream) {
			it.Class, it.Cause = found.Example.Label, id
			if kind, by = "taught", last; id == itself { // a person named it, whatever its record said
				it.Name = itself
			}
			break
		}
		if id == it.Cause {
			it.Class, it.Cause = it.Said, ""
			kind, by = "forgotten", last
		}
	}
	label := to.Name(it.Stream, it.Class)
	if by == nil {
		by = l.Naming(to, it.Stream, it.Class)
	}
	if label != it.Label {
		if it.Label = label; kind == "taught" {
			it.Confidence, it.Unknown = 1, false
		} else if kind == "forgotten" {
			it.Confidence = it.SaidConfidence
		}
	}
	return kind, by
}

// setLastKnown sets the labels of a block's items that previous owners had answered to their last known ones, so
// that any other label is a correction. It says whether one of them was forgotten.
func (r *Partition) setLastKnown(b *recent.Block) (forgotten bool) {
	if r.earlier == nil || len(r.earlier.called) == 0 {
		return false
	}
	before := len(r.earlier.called)
	forgotten = r.recent.SetLastKnown(b, r.earlier.called)
	r.earlier.readAgain = r.earlier.readAgain || len(r.earlier.called) < before
	return forgotten
}
