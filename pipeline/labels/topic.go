// Package labels follows the labels topic of a stage. It turns what people and machines write there (examples,
// rejections, names, orders to forget) into versions of the labels: one is in force, and those of
// earlier positions can be made again, so that a stream replays its episodes with the labels it answered
// them with.
package labels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Options say which topic is followed and how.
type Options struct {
	Client  *topic.Client
	Topic   string // "": none
	Dead    string // the topic of dead letters
	Decode  record.Options
	Support []taught.Example
	Most    int                        // most examples of the topic in force, the latest; 0: no bound
	Shown   func(inForce, leftOut int) // called with each current version; nil: not called
	Watch   time.Duration              // how often to check for new partitions and a recreated topic; default 5 s
	Log     *slog.Logger
}

// Topic follows the labels topic for the whole process. The topic is read once; all streams and replays use
// versions made from it.
type Topic struct {
	options Options
	warned  telemetry.Warnings
	current atomic.Pointer[Version]
	fixed   bool // of a backfill: current does not change
	agreed  agreed

	counting sync.Mutex
	counted  *counts // nil: nothing was counted yet

	lettered []int64 // by partition: records before this offset have their dead letters; for Follow

	mutex   sync.Mutex
	records *history // nil: the topic is not read yet
}

// Version is an immutable version of the labels: the topic's contents at given offsets.
type Version struct {
	Labels   *taught.Labels
	Next     Position              // the position after the last records that the version covers
	resets   []*Record             // orders to forget; see Reset
	standing ordered.List[*Record] // examples neither replaced nor deleted, in the order of precedes
	oldest   *Record               // the first of them in force; nil: all are
	leftOut  int                   // the number of standing examples before oldest
	said     ordered.List[*Record] // names and rejections, oldest first
	naming   *naming               // computed from said
	bytes    int64                 // of the examples in force
	of       *history              // that it was made from
}

// Reset lets a stream's memory obey the orders to forget that are new since its last version, which ended at
// a position. A stream obeys each once, before the first episode that it answers with a version that covers
// it.
func (v *Version) Reset(memory *stream.Stream, name string, position Position) {
	since := v.since(position)
	for _, r := range v.resets {
		if r.Offset >= since.offset(r.Partition) && (r.Stream() == "" || r.Stream() == name) {
			memory.Reset(r.Class())
		}
	}
}

func New(o Options) *Topic {
	o.Decode.StreamBy = ""
	o.Watch = cmp.Or(o.Watch, 5*time.Second)
	l := &Topic{options: o}
	l.agreed.changed = make(chan struct{}, 1)
	l.current.Store(newHistory(0, o.Support, o.Most).root)
	return l
}

// Current returns the labels in force.
func (l *Topic) Current() *Version { return l.current.Load() }

// errRemade is returned when the labels topic was deleted and created again, or has more partitions than are
// read.
var errRemade = errors.New("the labels topic was made again, or has more partitions")

// errUnheard is returned after a time without contact in which the topic may have lost deletions that nobody here read.
var errUnheard = errors.New("out of reach for longer than the topic keeps deletions (delete.retention.ms)")

// unheard says whether a reader that was without contact for so long may have missed a deletion: the topic keeps them for a
// day unless it is set to less by now. Readers at its end are without contact for half a second at a time.
func (l *Topic) unheard(ctx context.Context, silent time.Duration) bool {
	if silent <= 2*time.Second {
		return false
	}
	kept := 24 * time.Hour
	d, err := l.options.Client.Describe(ctx, l.options.Topic)
	if ms, bad := strconv.ParseInt(d.Settings["delete.retention.ms"], 10, 64); bad == nil {
		kept = time.Duration(min(ms, kept.Milliseconds())) * time.Millisecond
	}
	return err != nil || silent > kept
}

// Follow reads the topic to its end, calls ready, and keeps reading until ctx ends. Errors are registered for
// Client.Failing, and the topic is read again until it can be; streams continue with the labels in memory
// meanwhile. Follow returns an error only if the options are wrong.
func (l *Topic) Follow(ctx context.Context, ready func()) error {
	if l.options.Topic == "" || l.fixed {
		ready()
		<-ctx.Done()
		return nil
	}
	if _, err := record.NewDecoder(l.options.Decode); err != nil {
		return fmt.Errorf("labels topic %s: %w", l.options.Topic, err)
	}
	outage := l.options.Client.Outage(l.options.Log, "following the labels topic "+l.options.Topic)
	for {
		err := l.read(ctx, outage, ready)
		if ctx.Err() != nil {
			return nil
		}
		if gone := (*topic.OutOfRange)(nil); errors.Is(err, errRemade) || errors.Is(err, errUnheard) || errors.As(err, &gone) {
			l.lettered = nil
			l.options.Log.Warn("the labels topic is read again from its start", "topic", l.options.Topic, "reason", err)
			continue
		}
		if outage.Wait(ctx, err) != nil {
			return nil
		}
	}
}

// read loads the topic, calls ready, and follows it. It returns on an error, and when the topic has more
// partitions or was created again. What it can read ends the outage.
func (l *Topic) read(ctx context.Context, outage *topic.Outage, ready func()) error {
	o := &l.options
	id, err := o.Client.ID(ctx, o.Topic)
	if err != nil {
		return err
	}
	spans, err := l.spans(ctx)
	if err != nil {
		return err
	}
	n := len(spans)
	if len(l.lettered) != n {
		l.lettered = make([]int64, n)
	}
	records, err := l.load(ctx, spans, mostReplaced, l.lettered, nil)
	if err != nil {
		return err
	}
	records.next = append(records.next, records.mark...)
	l.writeLetters(ctx, l.show(records)...)
	v := l.current.Load() // with the support, which is not of the topic
	o.Log.Info("labels read", "topic", o.Topic, "examples", v.standing.Len()-v.leftOut)
	ready()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type part struct {
		partition int
		batch     *topic.Batch
		err       error
	}
	parts := make(chan part)
	for p, span := range spans {
		go func() {
			reader := o.Client.NewReader(topic.ReaderSettings{Topic: o.Topic, Partition: span.Partition, Offset: span.To})
			for {
				asked := time.Now()
				batch, err := reader.Read(ctx)
				if err == nil && l.unheard(ctx, time.Since(asked)) {
					err = errUnheard
				}
				select {
				case parts <- part{p, batch, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
	}
	publish := time.NewTimer(time.Hour)
	defer publish.Stop()
	watch := time.NewTicker(o.Watch)
	defer watch.Stop()
	changed, pause := false, 20*time.Millisecond // records that arrive together become one version
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-publish.C:
			begin := time.Now()
			l.writeLetters(ctx, l.show(records)...)
			pause = max(20*time.Millisecond, 20*time.Since(begin)) // publishing takes at most a twentieth of a core
			changed = false
		case <-watch.C:
			if now, err := o.Client.Partitions(ctx, o.Topic); err == nil && now > n {
				return errRemade
			}
			if now, err := o.Client.ID(ctx, o.Topic); err == nil && id != (topic.ID{}) && now != id {
				return errRemade
			}
		case <-l.agreed.changed:
			l.writeLetters(ctx, l.misfits(l.current.Load())...)
		case part := <-parts:
			if part.err != nil {
				return part.err
			}
			outage.Over()
			for i := range part.batch.Records {
				if _, err := l.take(ctx, records, &part.batch.Records[i], l.lettered); err != nil {
					return err
				}
			}
			moved := part.batch.Next > records.next[part.partition] // by markers of transactions too: see Covers
			records.next[part.partition] = part.batch.Next
			if moved && !changed {
				changed = true
				publish.Reset(pause)
			}
		}
	}
}

// spans returns what the topic's partitions hold now; an error if there is no topic.
func (l *Topic) spans(ctx context.Context) ([]topic.Span, error) {
	spans, err := l.options.Client.SpansOf(ctx, true, l.options.Topic)
	if err != nil {
		return nil, fmt.Errorf("labels topic %s: %w", l.options.Topic, err)
	}
	return spans, nil
}

// load reads spans, one for each partition from 0 on, and calls added, unless nil, with each record that can be
// used. It writes dead letters for the others from the offsets lettered on; nil: none. room bounds the bytes of
// replaced records that are kept.
func (l *Topic) load(ctx context.Context, spans []topic.Span, room int, lettered []int64, added func(*Record),
) (records *history, err error) {
	records = newHistory(len(spans), l.options.Support, l.options.Most)
	records.room = room
	id, err := l.options.Client.ID(ctx, l.options.Topic)
	if err != nil {
		return nil, err
	}
	records.mark = markOf(id)
	if records.decoder, err = record.NewDecoder(l.options.Decode); err != nil {
		return nil, err
	}
	for r, err := range l.options.Client.Records(ctx, spans...) {
		var kept *Record
		if err == nil {
			kept, err = l.take(ctx, records, r, lettered)
		}
		if err != nil {
			return nil, fmt.Errorf("labels topic %s: %w", l.options.Topic, err)
		}
		if added != nil && kept != nil {
			added(kept)
		}
	}
	for p, span := range spans {
		records.next[p] = span.To
	}
	return records, nil
}

// show makes a version of the records read so far current, and returns dead letters for names that cannot
// be in force.
func (l *Topic) show(records *history) (letters []record.Out) {
	l.mutex.Lock()
	from := l.current.Load()
	if l.records != records {
		l.records, from = records, records.root
	}
	v := records.version(from, records.next)
	l.current.Store(v)
	l.mutex.Unlock()
	if l.options.Shown != nil {
		l.options.Shown(v.standing.Len()-v.leftOut, v.leftOut)
	}
	for r, why := range v.naming.faults {
		if !r.told {
			letters = append(letters, l.letter(r, why.Error()))
		}
	}
	for what, leftOut := range map[string]int{"examples": v.leftOut, "rejections": v.naming.leftOut} {
		if leftOut > 0 {
			l.warned.Once(what, func(int) {
				l.options.Log.Warn("the labels topic holds more "+what+" than can be in force: the oldest are not",
					"topic", l.options.Topic, "left_out", leftOut)
			})
		}
	}
	return letters
}

// take adds a record and returns what is kept of it; nil: it cannot be used. It writes the dead letter of
// that, or of an example that does not fit the feed, from the offsets lettered on; nil: none.
func (l *Topic) take(
	ctx context.Context, records *history, r *record.Raw, lettered []int64,
) (kept *Record, err error) {
	var letter record.Out
	var bad bool
	what, fault := records.decoder.DecodeLabel(ctx, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case fault != nil:
		l.options.Log.Warn("a record of the labels topic cannot be used", "topic", l.options.Topic,
			"partition", r.Partition, "offset", r.Offset, "error", fault)
		letter, bad = record.DeadLetter(l.options.Dead, r, fault.Error(), 0), true
	default:
		what.Key = cmp.Or(what.Key, string(r.Key))
		l.mutex.Lock()
		kept = records.add(int(r.Partition), r.Offset, r.Time, what)
		if knew, mark := PositionOf(r).split(); slices.Equal(mark, records.mark) {
			kept.knew = knew
		}
		l.mutex.Unlock()
		letter, bad = l.misfit(kept)
	}
	if lettered != nil {
		if bad && r.Offset >= lettered[r.Partition] {
			l.writeLetters(ctx, letter)
		}
		if ctx.Err() == nil {
			lettered[r.Partition] = max(lettered[r.Partition], r.Offset+1)
		}
	}
	return kept, nil
}

// writeLetters writes dead letters. Every process reads the topic to its end at startup, so a letter may be
// written more than once. A letter that cannot be written is logged; the labels take effect all the same.
func (l *Topic) writeLetters(ctx context.Context, letters ...record.Out) {
	for i := range letters {
		if err := l.options.Client.Write(ctx, letters[i:i+1]); err != nil && ctx.Err() == nil {
			l.options.Log.Error("a dead letter of the labels topic cannot be written", "topic", l.options.Dead, "error", err)
		}
	}
}

// At returns the version that ended at this position: a stream replays its episodes with the labels it
// answered them with. The version is made from the records in memory, or, if those do not reach back far
// enough, read from the topic again. near is a version of about that position, from which it costs less to
// make; nil: none is known.
func (l *Topic) At(ctx context.Context, next Position, near *Version) (*Version, error) {
	if v, ok := l.held(next, near); ok {
		return v, nil
	}
	return l.readTo(ctx, next)
}

// readTo reads the topic up to a position, and returns the version there; nil: up to its present end.
func (l *Topic) readTo(ctx context.Context, next Position) (*Version, error) {
	spans, err := l.spans(ctx)
	if err != nil {
		return nil, err
	}
	offsets, mark := next.split()
	if next != nil {
		spans = spans[:min(len(spans), len(offsets))]
		for p := range spans {
			spans[p].To = min(spans[p].To, offsets[p])
		}
	}
	records, err := l.load(ctx, spans, 0, nil, nil)
	if err != nil {
		return nil, err
	}
	if next == nil {
		offsets = records.next
	}
	return records.version(records.root, append(offsets[:len(spans):len(spans)], mark...)), nil
}

// remade says whether a position is of a topic that was deleted, so that replay can use only the labels that
// there are now, and reports it.
func (l *Topic) remade(now *Version, next Position) bool {
	has, _ := now.Next.split()
	had, _ := next.split()
	if l.records == nil || len(had) <= len(has) && len(now.since(next)) == len(next) {
		return false
	}
	l.warned.Once("remade", func(int) {
		l.options.Log.Warn("the labels topic was deleted and made again: what earlier labels taught is learned again with "+
			"those that there are now", "topic", l.options.Topic)
	})
	return true
}

// held returns the version at this position, if the process still has its records.
func (l *Topic) held(next Position, near *Version) (*Version, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.current.Load()
	if l.options.Topic == "" || slices.Equal(now.Next, next) || l.remade(now, next) {
		return now, true
	}
	if l.records == nil || !l.records.reaches(next) {
		return nil, false
	}
	from := now
	if near != nil && near.of == l.records && apart(near.Next, next) < apart(now.Next, next) {
		from = near
	}
	if slices.Equal(from.Next, next) {
		return from, true
	}
	return l.records.version(from, next), true
}

// Fix makes one version permanent, so that the topic is not followed.
func (l *Topic) Fix(v *Version) {
	l.current.Store(v)
	l.fixed = true
}

// Read reads a labels topic to its present end and returns the labels that a stage with this support
// would use if it started now. Records that cannot be used are logged and skipped.
func Read(
	ctx context.Context, client *topic.Client, name string, decode record.Options, support []taught.Example, log *slog.Logger,
) (*taught.Labels, error) {
	l := New(Options{Client: client, Topic: name, Decode: decode, Support: support, Log: log})
	v, err := l.readTo(ctx, nil)
	if err != nil {
		return nil, err
	}
	return v.Labels, nil
}
