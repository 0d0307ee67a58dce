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

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// labels follows the labels topic for the whole process. The topic is read once; all streams and replays use
// versions made from it.
type labels struct {
	client  *topic.Client
	topic   string // "": none
	dead    string
	decode  record.Options
	support []stream.Example
	most    int                        // most examples of the topic in force, the latest; 0: no bound
	shown   func(inForce, leftOut int) // called with each current version; nil: not called
	warned  warnings
	log     *slog.Logger
	current atomic.Pointer[view]
	fixed   bool // of a backfill: current does not change
	agreed  agreed
	watch   time.Duration // how often to check for new partitions and for a recreated topic

	mutex   sync.Mutex
	records *labelRecords // nil: the topic is not read yet
	trouble error         // why the topic cannot be read now; nil: it can be
}

// view is an immutable version of the labels: the topic's contents at given offsets.
type view struct {
	labels   *stream.Labels
	next     []int64 // the position after the last records that the view covers
	resets   []reset
	standing ordered.List[*labelRecord] // examples neither replaced nor deleted, in the order of precedes
	oldest   *labelRecord               // the first of them in force; nil: all are
	leftOut  int                        // the number of standing examples before oldest
	said     ordered.List[*labelRecord] // names and rejections, oldest first
	naming   *naming                    // computed from said
	orders   *orders                    // to the process that answers; nil: none
	of       *labelRecords              // that it was made from
}

// reset is an order to forget, at its position in the labels topic. A stream obeys it once, before the first
// episode that it answers with a view that covers the order.
type reset struct {
	partition int
	offset    int64
	record.Reset
}

func (r reset) compare(x reset) int {
	return cmp.Or(cmp.Compare(r.partition, x.partition), cmp.Compare(r.offset, x.offset),
		cmp.Compare(r.Class, x.Class), cmp.Compare(r.Stream, x.Stream))
}

// reset lets a stream's memory obey the orders that are new since its last view, which ended at a position.
func (v *view) reset(memory *stream.Stream, name string, position []int64) {
	since := v.since(position)
	for _, r := range v.resets {
		if r.offset >= offsetOf(since, r.partition) && (r.Stream == "" || r.Stream == name) {
			memory.Reset(r.Class)
		}
	}
}

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

// errRemade is returned when the labels topic was deleted and created again, or has more partitions than are
// read.
var errRemade = errors.New("the labels topic was made again, or has more partitions")

// follow reads the topic to its end, calls ready, and keeps reading until ctx ends. An error before ready is
// returned. Errors after it are reported, and streams continue with the labels in memory.
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
		case errors.Is(err, errRemade), errors.As(err, &gone):
			l.log.Warn("the labels topic is read again from its start", "topic", l.topic, "reason", err)
			continue
		case !held:
			return fmt.Errorf("labels topic %s: %w", l.topic, err)
		}
		l.failing(err)
		if outage.Wait(ctx, err) != nil {
			return nil
		}
	}
}

// failing stores why the topic cannot be read; nil: it can be.
func (l *labels) failing(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.trouble = err
}

// failed reports a topic that cannot be read.
func (l *labels) failed() (t Trouble, failed bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.trouble == nil {
		return t, false
	}
	return Trouble{
		Of:    ofLabels,
		What:  "the labels topic " + l.topic + " cannot be read, and the labels read before stay in force",
		Cause: l.trouble.Error(),
		Do:    "allow READ on it, or make it again: it is read from its start then",
	}, true
}

// read follows the topic once from its start and calls ready at its end. It returns on a permanent error, and
// when the topic has more partitions or was created again.
func (l *labels) read(ctx context.Context, ready func()) error {
	n, err := await(ctx, l.client, l.log, l.topic)
	if err != nil {
		return err
	}
	what := "looking for the labels topic " + l.topic
	id, err := waitFor(ctx, l.client, l.log, what, func() (topic.ID, error) { return l.client.ID(ctx, l.topic) })
	if err != nil {
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
	records.next = slices.Concat(first, markOf(id))
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
			if now, err := l.client.Partitions(ctx, l.topic); err == nil && now > n {
				return errRemade
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

// show makes a version of the records read so far current, and returns dead letters for names that cannot
// be in force.
func (l *labels) show(records *labelRecords) (letters []record.Out) {
	l.mutex.Lock()
	from := l.current.Load()
	if l.records != records {
		l.records, from = records, records.root
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
				"topic", l.topic, "left_out", v.naming.leftOut)
		})
	}
	if v.leftOut == 0 {
		return letters
	}
	l.warned.once("most", func(int) {
		l.log.Warn("the labels topic holds more examples than a stage keeps: the oldest are not in force",
			"topic", l.topic, "most", l.most, "left_out", v.leftOut)
	})
	return letters
}

// take adds a batch and returns dead letters for records that cannot be used.
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

// writeLetters writes dead letters. Every process reads the topic to its end at startup, so a letter may be
// written more than once. A letter that cannot be written is logged; the labels take effect all the same.
func (l *labels) writeLetters(ctx context.Context, letters []record.Out) {
	for i := range letters {
		if err := l.client.Write(ctx, letters[i:i+1]); err != nil && ctx.Err() == nil {
			l.log.Error("a dead letter of the labels topic cannot be written", "topic", l.dead, "error", err)
		}
	}
}

// at returns the version that ended at this position: a stream replays its episodes with the labels it
// answered them with. The version is made from the records in memory, or, if those do not reach back far
// enough, read from the topic again. near is a version of about that position, from which it costs less to
// make; nil: none is known.
func (l *labels) at(ctx context.Context, next []int64, near *view) (*view, error) {
	if v, ok := l.held(next, near); ok {
		return v, nil
	}
	n, err := l.client.Partitions(ctx, l.topic)
	if err != nil {
		return nil, err
	}
	offsets, mark := split(next)
	offsets = offsets[:min(n, len(offsets))]
	records := l.begin(len(offsets))
	records.room = 0
	decoder, err := record.NewDecoder(l.decode)
	if err != nil {
		return nil, err
	}
	for p, end := range offsets {
		_, err := readTo(ctx, l.client, l.topic, int32(p), end, func(batch *topic.Batch, _, _ int64) error {
			_, err := l.take(ctx, records, decoder, p, batch)
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
func (l *labels) remade(now *view, next []int64) bool {
	has, _ := split(now.next)
	had, _ := split(next)
	if l.records == nil || len(had) <= len(has) && len(now.since(next)) == len(next) {
		return false
	}
	l.warned.once("remade", func(int) {
		l.log.Warn("the labels topic was deleted and made again: what earlier labels taught is learned again with "+
			"those that there are now", "topic", l.topic)
	})
	return true
}

// held returns the version at this position, if the process still has its records.
func (l *labels) held(next []int64, near *view) (*view, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.current.Load()
	if l.topic == "" || slices.Equal(now.next, next) || l.remade(now, next) {
		return now, true
	}
	if l.records == nil || !l.records.reaches(next) {
		return nil, false
	}
	from := now
	if near != nil && near.of == l.records && apart(near.next, next) < apart(now.next, next) {
		from = near
	}
	if slices.Equal(from.next, next) {
		return from, true
	}
	return l.records.version(from, next), true
}

// fix makes one view permanent, so that the topic is not followed.
func (l *labels) fix(v *view) {
	l.current.Store(v)
	l.fixed = true
}
