// Package labels follows the labels topic of a stage. It turns what people and machines write there (examples,
// rejections, names, orders to forget and to pause) into versions of the labels: one is in force, and those of
// earlier positions can be made again, so that a stream replays its episodes with the labels it answered
// them with.
package labels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// Options say which topic is followed and how.
type Options struct {
	Client  *topic.Client
	Topic   string // "": none
	Dead    string // the topic of dead letters
	Decode  record.Options
	Support []stream.Example
	Most    int                        // most examples of the topic in force, the latest; 0: no bound
	Shown   func(inForce, leftOut int) // called with each current version; nil: not called
	Watch   time.Duration              // how often to check for new partitions and a recreated topic; default 5 s
	// Patience is how long a transaction may hold back the topic before that is reported; default 45 s.
	Patience time.Duration
	Log      *slog.Logger
}

// Topic follows the labels topic for the whole process. The topic is read once; all streams and replays use
// versions made from it.
type Topic struct {
	options Options
	warned  telemetry.Warnings
	current atomic.Pointer[Version]
	fixed   bool // of a backfill: current does not change
	agreed  agreed
	counted classCounts

	lettered []int64 // by partition: records before this offset have their dead letters; for Follow

	mutex   sync.Mutex
	records *history // nil: the topic is not read yet
	trouble error    // why the topic cannot be read now; nil: it can be
}

// Version is an immutable version of the labels: the topic's contents at given offsets.
type Version struct {
	Labels   *stream.Labels
	Next     Position // the position after the last records that the version covers
	resets   []reset
	standing ordered.List[*Record] // examples neither replaced nor deleted, in the order of precedes
	oldest   *Record               // the first of them in force; nil: all are
	leftOut  int                   // the number of standing examples before oldest
	said     ordered.List[*Record] // names and rejections, oldest first
	naming   *naming               // computed from said
	Orders   *Orders               // to the process that answers; nil: none
	of       *history              // that it was made from
}

// reset is an order to forget, at its position in the labels topic. A stream obeys it once, before the first
// episode that it answers with a version that covers the order.
type reset struct {
	partition int
	offset    int64
	record.Reset
}

func (r reset) compare(x reset) int {
	return cmp.Or(cmp.Compare(r.partition, x.partition), cmp.Compare(r.offset, x.offset),
		cmp.Compare(r.Class, x.Class), cmp.Compare(r.Stream, x.Stream))
}

// Reset lets a stream's memory obey the orders that are new since its last version, which ended at a position.
func (v *Version) Reset(memory *stream.Stream, name string, position Position) {
	since := v.since(position)
	for _, r := range v.resets {
		if r.offset >= since.offset(r.partition) && (r.Stream == "" || r.Stream == name) {
			memory.Reset(r.Class)
		}
	}
}

func New(o Options) *Topic {
	o.Decode.StreamBy = ""
	o.Watch, o.Patience = cmp.Or(o.Watch, 5*time.Second), cmp.Or(o.Patience, 45*time.Second)
	l := &Topic{options: o}
	l.agreed.changed = make(chan struct{}, 1)
	l.current.Store(l.begin(0).root)
	return l
}

// Current returns the labels in force.
func (l *Topic) Current() *Version { return l.current.Load() }

func (l *Topic) begin(partitions int) *history {
	return newHistory(partitions, l.options.Support, l.options.Most)
}

// errRemade is returned when the labels topic was deleted and created again, or has more partitions than are
// read.
var errRemade = errors.New("the labels topic was made again, or has more partitions")

// Follow reads the topic to its end, calls ready, and keeps reading until ctx ends. Errors are reported, and
// the topic is read again until it can be; streams continue with the labels in memory meanwhile. Follow
// returns an error only if the options are wrong.
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
		err := l.read(ctx, func() {
			outage.Over()
			l.setFailing(nil)
			ready()
		})
		if ctx.Err() != nil {
			return nil
		}
		var gone *topic.OutOfRange
		switch {
		case errors.Is(err, errRemade), errors.As(err, &gone):
			l.lettered = nil
			l.options.Log.Warn("the labels topic is read again from its start", "topic", l.options.Topic, "reason", err)
			continue
		}
		l.setFailing(err)
		if outage.Wait(ctx, err) != nil {
			return nil
		}
	}
}

// setFailing stores why the topic cannot be read; nil: it can be.
func (l *Topic) setFailing(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.trouble = err
}

// Failing returns why the topic cannot be read now; nil: it can be. The labels read before stay in force.
func (l *Topic) Failing() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.trouble
}

// read follows the topic once from its start and calls ready at its end. It returns on a permanent error, and
// when the topic has more partitions or was created again.
func (l *Topic) read(ctx context.Context, ready func()) error {
	n, err := l.options.Client.AwaitTopic(ctx, l.options.Log, l.options.Topic)
	if err != nil {
		return err
	}
	what := "looking for the labels topic " + l.options.Topic
	id, err := topic.Await(ctx, l.options.Client, l.options.Log, what, func() (topic.ID, error) { return l.options.Client.ID(ctx, l.options.Topic) })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	records := l.begin(n)
	if len(l.lettered) != n {
		l.lettered = make([]int64, n)
	}
	type part struct {
		partition int
		batch     *topic.Batch
		err       error
	}
	parts := make(chan part)
	first := make([]int64, n)
	for p := range n {
		first[p], err = topic.Await(ctx, l.options.Client, l.options.Log, "reading the labels topic "+l.options.Topic, func() (int64, error) {
			return l.options.Client.Offset(ctx, l.options.Topic, int32(p), topic.Earliest, false)
		})
		if err != nil {
			return err
		}
		go func() {
			reader := l.options.Client.NewReader(topic.ReaderSettings{Topic: l.options.Topic, Partition: int32(p), Offset: first[p]})
			for {
				batch, err := reader.Read(ctx)
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
	records.next = slices.Concat(first, markOf(id))
	decoder, err := record.NewDecoder(l.options.Decode)
	if err != nil {
		return err
	}
	behind := n
	waiting := waiting{since: make([]time.Time, n)}
	atEnd := make([]bool, n)
	publish := time.NewTimer(time.Hour)
	defer publish.Stop()
	watch := time.NewTicker(l.options.Watch)
	defer watch.Stop()
	changed, pause := false, 20*time.Millisecond // records that arrive together become one version
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-publish.C:
			begin := time.Now()
			l.writeLetters(ctx, l.show(records))
			pause = max(20*time.Millisecond, 20*time.Since(begin)) // publishing takes at most a twentieth of a core
			changed = false
		case <-watch.C:
			if now, err := l.options.Client.Partitions(ctx, l.options.Topic); err == nil && now > n {
				return errRemade
			}
			if now, err := l.options.Client.ID(ctx, l.options.Topic); err == nil && id != (topic.ID{}) && now != id {
				return errRemade
			}
		case <-l.agreed.changed:
			l.writeLetters(ctx, l.misfits(l.current.Load()))
		case part := <-parts:
			if part.err != nil {
				return part.err
			}
			letters, err := l.take(ctx, records, decoder, part.partition, part.batch, l.lettered[part.partition])
			if err != nil {
				return err
			}
			if open, changed := waiting.add(l.options, part.partition, part.batch); changed {
				l.setFailing(open)
			}
			if len(part.batch.Records) > 0 && behind == 0 && !changed {
				changed = true
				publish.Reset(pause)
			}
			if !atEnd[part.partition] && part.batch.Next >= part.batch.LastStable {
				atEnd[part.partition] = true
				if behind--; behind == 0 {
					letters = append(letters, l.show(records)...)
					l.options.Log.Info("labels read", "topic", l.options.Topic, "examples", l.current.Load().Labels.Len())
					ready()
				}
			}
			l.writeLetters(ctx, letters)
			if ctx.Err() == nil {
				l.lettered[part.partition] = max(l.lettered[part.partition], part.batch.Next)
			}
		}
	}
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
	if v.naming.leftOut > 0 {
		l.warned.Once("rejections", func(int) {
			l.options.Log.Warn("the labels topic holds more rejections than can be in force: the oldest are not",
				"topic", l.options.Topic, "left_out", v.naming.leftOut)
		})
	}
	if v.leftOut == 0 {
		return letters
	}
	l.warned.Once("most", func(int) {
		l.options.Log.Warn("the labels topic holds more examples than a stage keeps: the oldest are not in force",
			"topic", l.options.Topic, "most", l.options.Most, "left_out", v.leftOut)
	})
	return letters
}

// take adds a batch and returns dead letters for records that cannot be used, from the offset lettered on.
func (l *Topic) take(
	ctx context.Context, records *history, decoder *record.Decoder, partition int, batch *topic.Batch,
	lettered int64,
) (letters []record.Out, err error) {
	for i := range batch.Records {
		r := &batch.Records[i]
		what, err := decoder.DecodeLabel(ctx, r)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			l.options.Log.Warn("a record of the labels topic cannot be used", "topic", l.options.Topic, "partition", partition,
				"offset", r.Offset, "error", err)
			if r.Offset >= lettered {
				letters = append(letters, record.DeadLetter(l.options.Dead, r, err.Error(), 0))
			}
			continue
		}
		l.mutex.Lock()
		added := records.add(partition, r.Offset, r.Time, what)
		l.mutex.Unlock()
		if letter, bad := l.misfit(added); bad && r.Offset >= lettered {
			letters = append(letters, letter)
		}
	}
	records.next[partition] = batch.Next
	return letters, nil
}

// writeLetters writes dead letters. Every process reads the topic to its end at startup, so a letter may be
// written more than once. A letter that cannot be written is logged; the labels take effect all the same.
func (l *Topic) writeLetters(ctx context.Context, letters []record.Out) {
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
	n, err := l.options.Client.Partitions(ctx, l.options.Topic)
	if err != nil {
		return nil, err
	}
	offsets, mark := next.split()
	offsets = offsets[:min(n, len(offsets))]
	records := l.begin(len(offsets))
	records.room = 0
	decoder, err := record.NewDecoder(l.options.Decode)
	if err != nil {
		return nil, err
	}
	for p, end := range offsets {
		at := topic.TopicPartition{Topic: l.options.Topic, Partition: int32(p)}
		first, last, err := l.options.Client.Bounds(ctx, at.Topic, at.Partition, false)
		if err != nil {
			return nil, err
		}
		err = l.options.Client.ReadRange(ctx, at, first, min(end, last), func(batch *topic.Batch) error {
			_, err := l.take(ctx, records, decoder, p, batch, math.MaxInt64)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return records.version(records.root, append(offsets, mark...)), nil
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
	ctx context.Context, client *topic.Client, name string, decode record.Options, support []stream.Example, log *slog.Logger,
) (*stream.Labels, error) {
	n, err := client.Partitions(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("labels topic %s: %w", name, err)
	}
	toEnd := slices.Repeat([]int64{math.MaxInt64}, n)
	v, err := New(Options{
		Client: client, Topic: name, Decode: decode, Support: support, Log: log,
	}).At(ctx, toEnd, nil)
	if err != nil {
		return nil, fmt.Errorf("labels topic %s: %w", name, err)
	}
	return v.Labels, nil
}
