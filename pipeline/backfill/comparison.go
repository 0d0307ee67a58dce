package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Comparison makes a backfill compare. It writes no results: only corrections, for items whose label differs
// from the one in results and corrections. It keeps those labels in memory, 8 bytes an item where records
// hold about as many each.
type Comparison struct {
	DryRun bool // count differences without writing them

	since    string // where to start reading results and corrections
	cause    record.Cause
	at       time.Time // of the corrections
	revision int64
	ranges   map[topic.TopicPartition]Range

	mutex   sync.Mutex
	labels  []string
	numbers map[string]uint32 // of labels, from 1
	pages   map[pageAt]*[pageSize]calledBefore
	bytes   int64
	ends    map[topic.TopicPartition]int64 // end offsets of what was read
	changes map[Relabelled]int64
	seen    int64 // items that were answered again, some of them perhaps twice
	unknown int64
}

// Relabelled is one kind of difference.
type Relabelled struct{ Was, Is string }

// calledBefore is an item's label in the topics. The zero value means none.
type calledBefore struct {
	label      uint32 // with inChanges set if the job's correction of the item is counted in changes
	confidence float32
}

const (
	pageSize     = 512
	pageBytes    = 8*pageSize + 100 // approximate
	inChanges    = 1 << 31
	comparedMost = 1 << 30   // bytes
	clocksApart  = time.Hour // how far senders' clocks may be ahead of the brokers'
)

// pageAt is where a page begins: it holds the items of one number in their records.
type pageAt record.Source

func pageOf(at record.Source) pageAt {
	at.Offset -= at.Offset % pageSize
	return pageAt(at)
}

// ErrTooLong is returned if a range has more results than fit in memory for the comparison.
var ErrTooLong = errors.New("the range has too many results to be compared at once")

// Differences returns how many items the job labels differently, by old and new label, from all its
// processes, or in a dry run from this one. seen counts the items that this process has answered, unknown those of them
// without a result to compare with. Call it after the backfill.
func (c *Comparison) Differences() (changes map[Relabelled]int64, seen, unknown int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.changes, c.seen, c.unknown
}

// load reads the labels of the job's ranges from results and corrections.
func (c *Comparison) load(ctx context.Context, b *Backfill) error {
	plan := b.plan
	c.cause, c.at = record.Cause{Kind: "answered again", ID: plan.Job}, plan.At
	c.revision, c.since = labels.Position(plan.Labels).Revision(), "earliest"
	if since, err := time.Parse(time.RFC3339, plan.Since); err == nil {
		c.since = since.Add(-clocksApart).Format(time.RFC3339)
	}
	c.ranges, c.numbers, c.pages = b.ranges, map[string]uint32{}, map[pageAt]*[pageSize]calledBefore{}
	c.changes, c.ends = map[Relabelled]int64{}, map[topic.TopicPartition]int64{}
	take := func(r *record.Raw) error { return c.result(b.settings.Form.JSON(r.Value)) }
	if err := c.readAll(ctx, b, b.settings.Results, take); err != nil {
		return err
	}
	return c.readAll(ctx, b, b.settings.Corrections, c.correction)
}

// finish counts what the job's processes have written since load.
func (c *Comparison) finish(ctx context.Context, b *Backfill) error {
	if c.DryRun {
		return nil
	}
	return c.readAll(ctx, b, b.settings.Corrections, c.correction)
}

// readAll reads a topic to its end, from where the last call ended or from since on; "": there is none.
func (c *Comparison) readAll(ctx context.Context, b *Backfill, name string, take func(*record.Raw) error) error {
	if name == "" {
		return nil
	}
	list, err := b.settings.Client.PartitionsOf(ctx, name)
	for _, at := range list {
		span := topic.Span{TopicPartition: at}
		var known bool
		if span.From, known = c.ends[at]; !known {
			if span.From, err = b.offset(ctx, name, at.Partition, c.since); err != nil {
				return err
			}
		}
		if span.To, err = b.offset(ctx, name, at.Partition, "latest"); err != nil {
			return err
		}
		for r, err := range b.settings.Client.Records(ctx, span) {
			if err == nil {
				err = take(r)
			}
			if err != nil {
				return err
			}
		}
		c.ends[at] = span.To
	}
	return err
}

// result adds a result, and ignores a record that is none.
func (c *Comparison) result(value []byte) error {
	var said struct {
		ID         string  `json:"id"`
		Label      string  `json:"label"`
		Confidence float64 `json:"confidence"`
	}
	if json.Unmarshal(value, &said) != nil {
		return nil
	}
	return c.put(said.ID, said.Label, said.Confidence)
}

// correction adds a correction, and counts it if it is the job's.
func (c *Comparison) correction(r *record.Raw) error {
	var said record.Correction
	if json.Unmarshal(r.Value, &said) != nil {
		return nil
	}
	if at, ok := c.within(said.ID); ok && said.Cause == c.cause {
		c.count(at, said.Old.Label, said.New.Label)
	}
	return c.put(said.ID, said.New.Label, said.New.Confidence)
}

// count counts a difference unless it was counted before.
func (c *Comparison) count(at record.Source, was, is string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if entry := c.get(at); entry.label&inChanges == 0 {
		c.changes[Relabelled{was, is}]++
		entry.label |= inChanges
		c.set(at, entry)
	}
}

// within parses the ID of a result, and says whether the item is in the range.
func (c *Comparison) within(id string) (at record.Source, ok bool) {
	at, ok = record.ParseID(id)
	r, known := c.ranges[topic.TopicPartition{Topic: at.Topic, Partition: at.Partition}]
	return at, ok && known && at.Offset >= r.From && at.Offset < r.To
}

// put stores an item's label, replacing an earlier one.
func (c *Comparison) put(id, label string, confidence float64) error {
	at, ok := c.within(id)
	if !ok {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	number := c.numbers[label]
	if number == 0 {
		label = strings.Clone(label)
		c.labels = append(c.labels, label)
		number = uint32(len(c.labels))
		c.numbers[label] = number
		c.bytes += int64(2*len(label) + 64)
	}
	c.set(at, calledBefore{number | c.get(at).label&inChanges, float32(confidence)})
	if c.bytes > comparedMost {
		return fmt.Errorf("%w: they would take more than %d MiB", ErrTooLong, comparedMost>>20)
	}
	return nil
}

// set and get are called with the lock held.
func (c *Comparison) set(at record.Source, entry calledBefore) {
	key := pageOf(at)
	if c.pages[key] == nil {
		c.pages[key] = new([pageSize]calledBefore)
		c.bytes += pageBytes
	}
	c.pages[key][at.Offset%pageSize] = entry
}

func (c *Comparison) get(at record.Source) calledBefore {
	if page := c.pages[pageOf(at)]; page != nil {
		return page[at.Offset%pageSize]
	}
	return calledBefore{}
}

// Compare returns the correction that follows from an answer; nil: none.
func (c *Comparison) Compare(it *record.Item, r *record.Result) *record.Correction {
	c.mutex.Lock()
	c.seen++
	was := c.get(it.Source)
	if was.label&^inChanges == 0 {
		c.unknown++
		c.mutex.Unlock()
		return nil
	}
	label := c.labels[was.label&^inChanges-1]
	c.mutex.Unlock()
	if label == r.Label {
		return nil
	}
	if c.DryRun {
		c.count(it.Source, label, r.Label)
		return nil
	}
	return &record.Correction{
		ID:    r.ID,
		Old:   record.Called{Label: label, Confidence: math.Round(float64(was.confidence)*1e6) / 1e6},
		New:   record.Called{Label: r.Label, Class: r.Class, Confidence: math.Round(r.Confidence*1e6) / 1e6},
		Cause: c.cause, Revision: c.revision, Time: c.at,
	}
}
