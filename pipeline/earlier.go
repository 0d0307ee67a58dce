package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// earlier holds the latest items that previous owners of a partition answered. A new owner reads them from
// the results topic, and their later names from the corrections topic, so that it can correct them like its
// own items. They have no vectors: new names and new labels of the items themselves correct them, labels of
// similar items do not.
type earlier struct {
	from     record.Position // items from here on are answered again, unless done covers them
	done     map[record.Stream]record.Position
	written  []topic.Span      // results and corrections when the partition was assigned
	read     chan earlierRead  // nil: not reading
	called   map[string]string // the latest label in the topics, by ID, of items that are read again
	taken    bool              // the items were added to recent
	recalled bool              // such items were added to recent and await correction

	// relearn are the episodes that are read again, and kept with the answers they had.
	relearn map[record.Stream][]state.Episode
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

// newEarlier takes from a restored journal which items will be read and answered again.
func newEarlier(r *state.Restored, from record.Position) *earlier {
	e := &earlier{from: from, done: r.Done, called: map[string]string{}}
	e.relearn = map[record.Stream][]state.Episode{}
	for _, a := range r.Relearn {
		e.relearn[a.Stream] = append(e.relearn[a.Stream], a)
	}
	return e
}

// again says whether the owner will read an item again and keep it with the answer it gives then.
func (e *earlier) again(of record.Stream, at record.Position) bool {
	for _, a := range e.relearn[of] {
		if !a.First.After(at) && !at.After(a.Last) {
			return true
		}
	}
	done, known := e.done[of]
	return !e.from.After(at) && (!known || at.After(done))
}

// readEarlier starts reading the items of previous owners, as far back as recent items may reach.
func (r *recall) readEarlier(ctx context.Context) {
	if r == nil || r.earlier == nil || r.earlier.taken {
		return
	}
	e := r.earlier
	read := make(chan earlierRead, 1)
	e.read = read
	of := r.of
	go func() {
		items, err := of.earlierItems(ctx, e)
		if ctx.Err() == nil {
			read <- earlierRead{items, err}
		}
	}()
}

// earlierBytes is the approximate size of a previous owner's item.
const earlierBytes = 512

// earlierItems returns the latest items of a partition that have results, in the order of their records.
func (o *ownership) earlierItems(ctx context.Context, e *earlier) ([]earlierItem, error) {
	s := o.stage
	most := s.options.Recent.Most() / earlierBytes / int64(max(1, s.owned.Load()))
	id := fmt.Appendf(nil, `"%s/`, o.TopicPartition) // the start of the partition's item IDs in a record
	var items []earlierItem
	at := map[string]int{}
	err := s.readLast(ctx, s.options.Out, most, e, id, func(r *record.Raw, value []byte) {
		var said record.Result
		if json.Unmarshal(value, &said) != nil || said.Settled != nil {
			return
		}
		if from, ok := record.ParseID(said.ID); !ok || from.Topic != o.Topic || from.Partition != o.Partition {
			return
		}
		class := cmp.Or(said.Class, said.Label)
		asOf := labels.PositionOf(r)
		it := earlierItem{said: asOf, called: asOf, Item: recent.Item{
			ID: said.ID, Name: record.ItemKey(said.ID), ItemID: said.ItemID, Key: bytes.Clone(r.Key), Stream: said.Stream,
			Model: said.Model, Label: said.Label, Class: class, Confidence: said.Confidence, Said: class,
			SaidConfidence: said.Confidence, Unknown: said.Unknown, Time: said.Time,
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
	err = s.readLast(ctx, s.options.Corrections, 2*most, e, id, func(r *record.Raw, value []byte) {
		var c record.Correction
		i, known := 0, false
		if json.Unmarshal(value, &c) == nil {
			i, known = at[c.ID]
		}
		if !known || c.Revision < revisions[c.ID] {
			return
		}
		revisions[c.ID] = c.Revision
		it := &items[i]
		it.Label, it.Confidence, it.called = c.New.Label, c.New.Confidence, labels.PositionOf(r)
		class := cmp.Or(c.New.Class, c.New.Label)
		switch c.Cause.Kind {
		case "taught":
			it.Class, it.Cause = class, c.Cause.ID
		case "answered again":
			it.Class, it.Cause = class, ""
			it.Said, it.SaidConfidence, it.said = class, c.New.Confidence, it.called
		case "rejected":
			it.Class, it.Cause = it.Said, ""
		case "forgotten":
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

// readLast reads the last records of each partition of a topic, up to its end when this partition was
// assigned, and calls take with the JSON of those that contain the given bytes.
func (s *Stage) readLast(ctx context.Context, name string, most int64, e *earlier, contains []byte,
	take func(r *record.Raw, value []byte),
) error {
	for _, span := range e.written {
		if span.Topic != name {
			continue
		}
		// Retention may have moved it since.
		first, err := s.client.Offset(ctx, name, span.Partition, topic.Earliest, false)
		if err != nil {
			return err
		}
		span.From = max(first, span.To-most)
		for r, err := range s.client.Records(ctx, span) {
			switch {
			case err != nil:
				return err
			case !bytes.Contains(r.Value, contains):
			case name == s.options.Out:
				take(r, s.resultOf(r))
			default:
				take(r, r.Value)
			}
		}
	}
	return nil
}

// resultOf returns the JSON of a record of the results topic, without the CloudEvent around it.
func (s *Stage) resultOf(r *record.Raw) []byte {
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if s.options.Form.ContentType != "" && json.Unmarshal(r.Value, &event) == nil {
		return event.Data
	}
	return r.Value
}

// takeEarlier puts previous owners' items before the owner's own recent items, and corrects those to which
// the current labels give another name, once they are read.
func (r *recall) takeEarlier() {
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
		r.of.log.Warn("results of earlier owners cannot be read: labels correct only later results",
			"error", read.err)
		return
	}
	e.taken = true
	to := r.of.stage.labels.Current()
	var kept []recent.Item
	for i := range read.items {
		it := &read.items[i]
		from, _ := record.ParseID(it.ID)
		if e.again(record.Stream{Name: it.Stream, Model: it.Model}, from.Position()) {
			e.called[it.ID] = it.Label
			continue
		}
		was := recent.Corrected{Was: it.Label, WasConfidence: it.Confidence}
		kind, by := r.settle(to, it)
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
		r.recall(b)
	}
	r.recent.DropForgotten()
}

// settle sets an item's label by the current labels, and returns the kind of correction and the record
// that caused it. An item whose class or name was forgotten since is left without a class.
func (r *recall) settle(to *labels.Version, it *earlierItem) (kind string, by *labels.Record) {
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
	l := r.of.stage.labels
	kind = "renamed"
	for _, id := range []string{it.Name, it.ID, it.Cause} {
		if id == "" {
			continue
		}
		found, last := l.InForce(to, id)
		if found.Example != nil && (found.Stream == "" || found.Stream == it.Stream) {
			it.Class, it.Cause = found.Example.Label, id
			kind, by = "taught", last
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

// recall sets the labels of a block's items that previous owners had answered to their last known ones, so
// that any other label is a correction.
func (r *recall) recall(b *recent.Block) (any bool) {
	any = r.earlier != nil && len(r.earlier.called) > 0 && r.recent.Recall(b, r.earlier.called)
	if any {
		r.earlier.recalled = true
	}
	return any
}
