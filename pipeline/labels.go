package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// labels follows the labels topic for the whole process. The topic is read once: all streams, and all that is
// learned again, go by versions of what it holds.
type labels struct {
	client  *topic.Client
	topic   string // "": there is none
	dead    string
	decode  record.Options
	support []stream.Example
	most    int                        // examples of the topic that are in force, the latest; 0: all
	shown   func(inForce, leftOut int) // is called with each current version; nil: nobody asks
	warned  warnings
	log     *slog.Logger
	current atomic.Pointer[view]
	fixed   bool // of a backfill: what is current stays
	agreed  agreed
	watch   time.Duration // how often new partitions of the topic, and a new topic of that name, are looked for

	mutex   sync.Mutex
	records *labelRecords // nil: the topic is not read yet
	last    *view         // that at made last
	trouble error         // why the topic cannot be read now; nil: it can
}

// view is one version of the labels: what the topic said at one moment. It is never changed, only replaced.
type view struct {
	labels *stream.Labels
	// next holds, of each partition of the topic, the offset of the first record that the view does not know.
	next     []int64
	resets   []reset
	standing ordered.List[*labelRecord] // examples that nothing has replaced or taken back, by precedes
	oldest   *labelRecord               // the first of them that is in force; nil: all are
	leftOut  int                        // the number of those before it
	said     ordered.List[*labelRecord] // names and rejections, oldest first
	naming   *naming                    // what they come to
	orders   *orders                    // to whoever answers; nil: none
}

// dimensions are those of the examples, by model.
func (v *view) dimensions() map[string]labelledDimension {
	all := labelledDimensions{}
	for _, e := range v.labels.All() {
		all.add(e.Model, len(e.Vector))
	}
	return all.most()
}

// reset is an order to forget, at its position in the labels topic: a stream obeys it once, before the first
// episode that it answers by a view which knows the order.
type reset struct {
	partition int
	offset    int64
	record.Reset
}

func (r reset) compare(x reset) int {
	return cmp.Or(cmp.Compare(r.partition, x.partition), cmp.Compare(r.offset, x.offset),
		cmp.Compare(r.Class, x.Class), cmp.Compare(r.Stream, x.Stream))
}

// after tells whether the order is news to a stream that last answered by a view of these offsets.
func (r reset) after(next []int64) bool { return r.offset >= offsetOf(next, r.partition) }

func newLabels(
	client *topic.Client, name, dead string, decode record.Options, support []stream.Example, log *slog.Logger,
) *labels {
	decode.StreamBy = ""
	l := &labels{
		client: client, topic: name, dead: dead, decode: decode, support: support, log: log, watch: 5 * time.Second,
	}
	l.agreed.changed = make(chan struct{}, 1)
	l.current.Store(l.begin(0).root)
	return l
}

func (l *labels) begin(partitions int) *labelRecords {
	return newLabelRecords(partitions, l.support, l.most)
}

// errGrown is returned when the labels topic has more partitions than are read, errRemade when another topic
// has replaced it.
var (
	errGrown  = errors.New("the labels topic has more partitions")
	errRemade = errors.New("the labels topic was deleted and made again")
)

// follow reads the topic to its end, calls ready, and goes on reading until ctx ends. What goes wrong after
// that is reported, and streams go on with the labels that are held.
func (l *labels) follow(ctx context.Context, ready func()) error {
	if l.topic == "" || l.fixed {
		ready()
		<-ctx.Done()
		return nil
	}
	held := false
	outage := l.client.Outage(l.log, "following the labels topic "+l.topic)
	for {
		err := l.read(ctx, func() {
			held = true
			outage.Over()
			l.failing(nil)
			ready()
		})
		if ctx.Err() != nil {
			return nil
		}
		var gone *topic.OutOfRange
		switch {
		case errors.Is(err, errGrown), errors.Is(err, errRemade), errors.As(err, &gone):
			l.log.Warn("the labels topic is read again from its start", "topic", l.topic, "reason", err)
			continue
		case !held:
			return fmt.Errorf("labels topic %s: %w", l.topic, err)
		}
		l.failing(err)
		l.warned.once("away", func(int) {
			l.log.Error("the labels topic cannot be read: the labels that are held stay in force", "topic", l.topic,
				"error", err)
		})
		if outage.Wait(ctx, err) != nil {
			return nil
		}
	}
}

// failing notes why the topic cannot be read; nil: it can.
func (l *labels) failing(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.trouble = err
}

// failed reports that the topic cannot be read, if so.
func (l *labels) failed() (t Trouble, failed bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.trouble == nil {
		return t, false
	}
	return Trouble{
		What:  "the labels topic " + l.topic + " cannot be read, and the labels read before stay in force",
		Cause: l.trouble.Error(),
		Do:    "allow READ on it, or make it again: it is read from its start then",
	}, true
}

// partitions waits until the topic is there and says how many it has.
func (l *labels) partitions(ctx context.Context) (int, error) {
	return waitFor(ctx, l.client, l.log, "looking for the labels topic "+l.topic, func() (int, error) {
		n, err := l.client.Partitions(ctx, l.topic)
		if err == nil && n == 0 {
			err = kafka.UnknownTopicOrPartition
		}
		return n, err
	})
}

// read follows the topic once from its start, and calls ready when it has come to its end; it returns when
// reading fails for good, the topic has grown or another one has replaced it.
func (l *labels) read(ctx context.Context, ready func()) error {
	n, err := l.partitions(ctx)
	if err != nil {
		return err
	}
	id, err := l.client.ID(ctx, l.topic)
	if err != nil && !topic.Temporary(err) {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	records := l.begin(n)
	type part struct {
		partition int
		batch     *topic.Batch
		err       error
	}
	parts := make(chan part)
	first := make([]int64, n)
	for p := range n {
		first[p], err = waitFor(ctx, l.client, l.log, "reading the labels topic "+l.topic, func() (int64, error) {
			return l.client.Offset(ctx, l.topic, int32(p), topic.Earliest, false)
		})
		if err != nil {
			return err
		}
		go func() {
			reader := l.client.NewReader(topic.ReaderSettings{Topic: l.topic, Partition: int32(p), Offset: first[p]})
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
	copy(records.next, first)
	decoder, err := record.NewDecoder(l.decode)
	if err != nil {
		return err
	}
	behind := n
	atEnd := make([]bool, n)
	publish := time.NewTimer(time.Hour)
	defer publish.Stop()
	watch := time.NewTicker(l.watch)
	defer watch.Stop()
	changed, pause := false, 20*time.Millisecond // many at once are one change
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-publish.C:
			begin := time.Now()
			l.writeLetters(ctx, l.show(records))
			pause = max(20*time.Millisecond, 20*time.Since(begin)) // however many there are, a twentieth of a core
			changed = false
		case <-watch.C:
			if now, err := l.client.Partitions(ctx, l.topic); err == nil && now > n {
				return errGrown
			}
			if now, err := l.client.ID(ctx, l.topic); err == nil && id != (topic.ID{}) && now != id {
				return errRemade
			}
		case <-l.agreed.changed:
			l.writeLetters(ctx, l.misfits(l.current.Load()))
		case part := <-parts:
			if part.err != nil {
				return part.err
			}
			letters, err := l.take(ctx, records, decoder, part.partition, part.batch)
			if err != nil {
				return err
			}
			if len(part.batch.Records) > 0 && behind == 0 && !changed {
				changed = true
				publish.Reset(pause)
			}
			if !atEnd[part.partition] && part.batch.Next >= part.batch.LastStable {
				atEnd[part.partition] = true
				if behind--; behind == 0 {
					letters = append(letters, l.show(records)...)
					l.log.Info("labels read", "topic", l.topic, "examples", l.current.Load().labels.Len())
					ready()
				}
			}
			l.writeLetters(ctx, letters)
		}
	}
}

// show makes what the records say now current, and returns the dead letters of names that cannot be in force.
func (l *labels) show(records *labelRecords) (letters []record.Out) {
	l.mutex.Lock()
	from := l.current.Load()
	if l.records != records {
		l.records, l.last, from = records, nil, records.root
	}
	v := records.version(from, records.next)
	l.current.Store(v)
	l.mutex.Unlock()
	if l.shown != nil {
		l.shown(v.standing.Len()-v.leftOut, v.leftOut)
	}
	for r, why := range v.naming.faults {
		if !r.told {
			letters = append(letters, l.letter(r, why.Error()))
		}
	}
	if v.naming.leftOut > 0 {
		l.warned.once("rejections", func(int) {
			l.log.Warn("the labels topic holds more rejections than can be in force: the oldest are not",
				"topic", l.topic, "leftOut", v.naming.leftOut)
		})
	}
	if v.leftOut == 0 {
		return letters
	}
	l.warned.once("most", func(int) {
		l.log.Warn("the labels topic holds more examples than a stage keeps: the oldest are not in force",
			"topic", l.topic, "most", l.most, "leftOut", v.leftOut)
	})
	return letters
}

// take takes in a batch and returns the dead letters of what cannot be used.
func (l *labels) take(
	ctx context.Context, records *labelRecords, decoder *record.Decoder, partition int, batch *topic.Batch,
) (letters []record.Out, err error) {
	for i := range batch.Records {
		r := &batch.Records[i]
		what, err := decoder.DecodeLabel(ctx, r)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			l.log.Warn("a record of the labels topic cannot be used", "topic", l.topic, "partition", partition,
				"offset", r.Offset, "error", err)
			letters = append(letters, record.DeadLetter(l.dead, r, err.Error(), 0))
			continue
		}
		l.mutex.Lock()
		added := records.add(partition, r.Offset, r.Time, what)
		l.mutex.Unlock()
		if letter, bad := l.misfit(added); bad {
			letters = append(letters, letter)
		}
	}
	records.next[partition] = batch.Next
	return letters, nil
}

// writeLetters writes dead letters. Every process reads the topic to its end when it starts, so that a letter
// may be there more than once; what a topic refuses for good is said, and keeps no label from taking effect.
func (l *labels) writeLetters(ctx context.Context, letters []record.Out) {
	for i := range letters {
		if err := l.client.Write(ctx, letters[i:i+1]); err != nil && ctx.Err() == nil {
			l.log.Error("a dead letter of the labels topic cannot be written", "topic", l.dead, "error", err)
		}
	}
}

// at is the version that ended at these offsets: what a stream has to learn again, it learns by the labels
// that it answered with. It is made from what the process holds, or, where that does not reach so far back,
// read again from the topic.
func (l *labels) at(ctx context.Context, next []int64) (*view, error) {
	if v, ok := l.held(next); ok {
		return v, nil
	}
	n, err := l.client.Partitions(ctx, l.topic)
	if err != nil {
		return nil, err
	}
	l.fewer(len(next), n)
	next = next[:min(n, len(next))]
	records := l.begin(len(next))
	records.room = 0
	decoder, err := record.NewDecoder(l.decode)
	if err != nil {
		return nil, err
	}
	for p, end := range next {
		_, err := readTo(ctx, l.client, l.topic, int32(p), end, func(batch *topic.Batch, _, _ int64) error {
			_, err := l.take(ctx, records, decoder, p, batch)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return records.version(records.root, next), nil
}

// fewer reports that the topic has lost partitions: what they held cannot be learned by again.
func (l *labels) fewer(had, has int) {
	if has >= had {
		return
	}
	l.warned.once("fewer", func(int) {
		l.log.Warn("the labels topic has fewer partitions than it had: what is left of it counts", "topic", l.topic,
			"had", had, "has", has)
	})
}

// held is the version at these offsets, if the process holds the records that it is made of.
func (l *labels) held(next []int64) (*view, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.current.Load()
	if l.topic == "" || slices.Equal(now.next, next) {
		return now, true
	}
	if l.records == nil || !l.records.reaches(next) {
		return nil, false
	}
	l.fewer(len(next), len(l.records.next))
	from := now
	if l.last != nil && apart(l.last.next, next) < apart(now.next, next) {
		from = l.last
	}
	if !slices.Equal(from.next, next) {
		l.last = l.records.version(from, next)
		from = l.last
	}
	return from, true
}

// apart is how many offsets lie between two positions.
func apart(a, b []int64) (n int64) {
	for p := range max(len(a), len(b)) {
		n += max(offsetOf(a, p)-offsetOf(b, p), offsetOf(b, p)-offsetOf(a, p))
	}
	return n
}

// fix makes one view the only one: nothing is followed.
func (l *labels) fix(v *view) {
	l.current.Store(v)
	l.fixed = true
}
