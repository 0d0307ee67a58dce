// Package first gives items their first answers, when they are read.
package first

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// First answers come from one goroutine a partition. It gets the items as they are read, in order; it answers,
// writes, and waits for the acknowledgement. No episode waits for it, so no first answer is promised.
//
// An item has at most one from each owner of its partition, and none once its settled result may be written: items
// from before the claim get none, as an earlier owner may have settled them; settled items leave the queue; and a
// commit of results waits for the request in flight that has first answers of the same items.
const mostQueued = 8192 // items that wait, of a partition; more are left out

// Why an item is left without a first answer, as the metric counts it; CountAnswered has one.
const (
	CountAnswered = "answered"
	CountEarlier  = "earlier" // it was there when the partition was claimed
	CountBehind   = "behind"  // older than Within when it was read, and not the end of the partition
	CountLate     = "late"    // its turn came too late: it is settled, or read longer than Within ago
	CountFull     = "full"    // too many wait, or too many streams want memory
	CountUnknown  = "unknown" // nothing is known to answer by
	CountRefused  = "refused" // the topic did not take it
)

// Counts are all of them.
var Counts = []string{
	CountAnswered, CountEarlier, CountBehind, CountLate, CountFull, CountUnknown, CountRefused,
}

// Partition gives the items of one partition their first answers.
type Partition struct {
	following
	of     topic.TopicPartition
	from   int64 // offsets below were there when the partition was claimed
	sender topic.Sender
	wake   chan struct{}
	done   chan struct{}
	cancel func() // ends it before its context does

	// The request that is being made: answers, the record of each, and what the records are made of.
	given        []Answer
	out          []record.Out
	headers      []record.Header
	bytes        []byte
	alternatives []record.Alternative // of one answer

	mutex   sync.Mutex
	queue   []waiting
	sending map[*known]record.Position // the first item of each stream in the request on its way
	sent    chan struct{}              // closed when that is over
}

// waiting is an item that waits.
type waiting struct {
	stream *known
	item   *record.Item
	read   time.Time
}

// Beside returns the first answers of a partition.
func (p *Process) Beside(of topic.TopicPartition, log *slog.Logger) *Partition {
	return &Partition{
		following: following{process: p, log: log}, of: of, wake: make(chan struct{}, 1),
		sender: topic.Sender{
			Client: p.settings.Client, Origin: of.Partition, Patient: func(error, time.Duration) bool { return false },
		},
	}
}

// Begin implements extension.Extension.
func (f *Partition) Begin(ctx context.Context) (err error) {
	if f.from, err = f.process.settings.Client.Offset(ctx, f.of.Topic, f.of.Partition, topic.Latest, false); err != nil {
		return err
	}
	f.mutex.Lock()
	f.queue = nil
	f.mutex.Unlock()
	ctx, f.cancel = context.WithCancel(ctx)
	f.done = make(chan struct{})
	go f.run(ctx, f.done)
	return nil
}

// Read implements extension.Reader. Items older than Within are left out.
func (f *Partition) Read(items []extension.Read, old time.Duration) {
	now, batch := time.Now(), make([]waiting, 0, len(items))
	for _, r := range items {
		if r.Item.Source.Offset < f.from {
			f.count(1, CountEarlier)
			continue
		}
		batch = append(batch, waiting{f.process.known(r.Stream), r.Item, now})
	}
	if old > f.process.settings.Within {
		f.count(len(batch), CountBehind)
		return
	}
	if len(batch) == 0 {
		return
	}
	f.mutex.Lock()
	over := max(0, len(f.queue)+len(batch)-mostQueued)
	over = min(over, len(batch))
	f.queue = append(f.queue, batch[:len(batch)-over]...)
	f.mutex.Unlock()
	f.count(over, CountFull)
	f.wakeUp()
}

func (f *Partition) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Partition) count(n int, outcome string) {
	if n > 0 {
		f.process.settings.Counted.Add(float64(n), outcome)
	}
}

// Hold implements extension.Learner.
func (f *Partition) Hold(s *extension.Stream, last record.Position) <-chan struct{} {
	first := f.process.find(s)
	if first == nil {
		return nil
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	first.settled = last
	if at, on := f.sending[first]; on && !at.After(last) {
		return f.sent
	}
	return nil
}

// Free implements extension.Learner: items may wait for the stream.
func (f *Partition) Free(s *extension.Stream) {
	if f.process.find(s) != nil {
		f.wakeUp()
	}
}

// End implements extension.Extension: it waits for the request on its way.
func (f *Partition) End() {
	if f.done != nil { // it has begun
		f.cancel()
		<-f.done
	}
}

func (f *Partition) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		f.mutex.Lock()
		queue := f.queue
		f.queue = nil
		f.mutex.Unlock()
		f.give(ctx, queue)
	}
}

// give answers items and writes the answers in one request. Items whose stream is being solved and has answered nothing
// yet wait for that.
func (f *Partition) give(ctx context.Context, queue []waiting) {
	within := f.process.settings.Within
	var order []*known
	late, now := 0, time.Now()
	f.mutex.Lock()
	for _, x := range queue {
		if !x.item.Source.Position().After(x.stream.settled) || now.Sub(x.read) > within {
			late++
			continue
		}
		if len(x.stream.turn) == 0 {
			order = append(order, x.stream)
		}
		x.stream.turn = append(x.stream.turn, x)
	}
	f.mutex.Unlock()
	f.count(late, CountLate)
	var later []waiting
	f.given, f.out, f.headers, f.bytes = f.given[:0], f.out[:0], f.headers[:0], f.bytes[:0]
	if cap(f.given) > 1024 { // a burst is over
		f.given, f.out, f.headers, f.bytes = nil, nil, nil, nil
	}
	for _, s := range order {
		before, wait := len(f.given), []waiting(nil)
		if extension.Guard(f.log, "items could not be answered at once", s.of.Key.Name, func() { wait = f.answer(s, s.turn) }) {
			later = append(later, wait...)
		} else {
			f.given, f.out = f.given[:before], f.out[:before]
		}
		clear(s.turn)
		s.turn = s.turn[:0]
	}
	if len(later) > 0 {
		f.mutex.Lock()
		f.queue = append(later, f.queue...) // what came meanwhile is after it, stream by stream
		f.mutex.Unlock()
	}
	f.write(ctx)
}

// Answer is the first answer to an item.
type Answer struct {
	Late bool          // the observer had its episode already
	Took time.Duration // from reading the item to the acknowledgement

	waiting
	id     string // of the item's answer
	answer *stream.Answer
}

// Item is what was answered.
func (a *Answer) Item() *record.Item { return a.item }

// answer answers items of one stream; wait are those that it cannot answer yet, which is told once it can.
func (f *Partition) answer(s *known, list []waiting) (wait []waiting) {
	keys := extension.KeysOf(len(list), func(i int) *record.Item { return list[i].item })
	items := make([]stream.Item, len(list))
	for i := range list {
		items[i] = extension.ItemOf(list[i].item, keys[i])
	}
	if known, full := s.ask(); !known && !full {
		if !s.of.TryLock() {
			return list // Free is called when the worker is done
		}
		err := f.process.learn(s, &items[0], nil, nil)
		s.of.Unlock()
		if err != nil {
			f.count(len(list), CountUnknown)
			return nil
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.knows == nil {
		f.count(len(list), CountFull)
		return nil
	}
	answers := s.now.Answer(items)
	if answers == nil {
		f.count(len(list), CountUnknown)
		return nil
	}
	for i := range answers {
		f.given = append(f.given, Answer{waiting: list[i], id: record.ResultOf(keys[i]), answer: &answers[i]})
		f.encode(&f.given[len(f.given)-1])
	}
	return nil
}

// encode makes the record of a first answer. Bytes and headers that grow move, but those of earlier records
// stay where they were.
func (f *Partition) encode(a *Answer) {
	it, from := a.item, len(f.bytes)
	r := a.result(f.alternatives[:0])
	f.alternatives = r.Alternatives
	f.bytes = record.AppendResult(f.bytes, &r)
	value := f.bytes[from:len(f.bytes):len(f.bytes)]
	from, first := len(f.bytes), len(f.headers)
	f.bytes = record.AppendTime(f.bytes, it.Time)
	at := f.bytes[from:len(f.bytes):len(f.bytes)]
	f.headers = append(f.headers, record.Header{Key: record.TimeHeader, Value: at})
	f.headers = it.Trace.AppendHeaders(f.headers)
	f.out = append(f.out, record.Out{
		Topic: f.process.settings.Topic, Partition: -1, Key: it.Key, Value: value,
		Headers: f.headers[first:len(f.headers):len(f.headers)],
	})
}

// notSettled is Result.Settled of first answers.
var notSettled bool

// Result is the answer as it was written.
func (a *Answer) Result() record.Result { return a.result(nil) }

// result is Result, with its alternatives appended to others.
func (a *Answer) result(others []record.Alternative) (r record.Result) {
	extension.SetResult(&r, a.item, a.id, a.answer)
	r.Settled, r.Alternatives = &notSettled, others
	for _, other := range a.answer.Alternatives {
		r.Alternatives = append(r.Alternatives, record.Alternative(other))
	}
	return r
}

// write writes first answers once. What the topic does not take is counted, and nothing waits for it.
func (f *Partition) write(ctx context.Context) {
	settings := f.process.settings
	begin := time.Now()
	out, kept := f.out[:0], f.given[:0]
	f.mutex.Lock()
	f.sending, f.sent = map[*known]record.Position{}, make(chan struct{})
	late := 0
	for i := range f.given {
		r := &f.given[i]
		at := r.item.Source.Position()
		if !at.After(r.stream.settled) || begin.Sub(r.read) > settings.Within || ctx.Err() != nil {
			late++
			continue
		}
		if _, on := f.sending[r.stream]; !on {
			f.sending[r.stream] = at
		}
		out, kept = append(out, f.out[i]), append(kept, *r)
	}
	f.mutex.Unlock()
	f.count(late, CountLate)
	err := f.send(out)
	f.mutex.Lock()
	f.sending = nil
	close(f.sent)
	f.mutex.Unlock()
	if err != nil {
		f.count(len(kept), CountRefused)
		f.process.warned.Once("", func(times int) {
			f.log.Warn("first answers are not written: the stage goes on without", "times", times, "error", err)
			f.process.MakeTopic(context.Background(), 1)
		})
		return
	}
	f.count(len(kept), CountAnswered)
	acknowledged, took := time.Now(), settings.Took.Of()
	for i := range kept {
		kept[i].Took = acknowledged.Sub(kept[i].read)
		took.Observe(kept[i].Took.Seconds())
	}
	if told := settings.Tell; told != nil && len(kept) > 0 {
		f.tell(told, kept)
	}
}

// tell passes first answers to the observer; none of their episodes is passed meanwhile. A panic is not the
// items' fault.
func (f *Partition) tell(told func([]Answer), list []Answer) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i := range list {
		list[i].Late = !list[i].item.Source.Position().After(list[i].stream.settled)
	}
	extension.Guard(f.log, "the observer failed", "", func() { told(list) })
}

// send writes the records, and waits for no broker that fails.
func (f *Partition) send(out []record.Out) error {
	ctx, cancel := f.process.aWhile()
	defer cancel()
	return f.sender.Write(ctx, out)
}

// MakeTopic makes the topic of first answers if it is missing, with at least so many partitions. Nothing waits for it.
func (p *Process) MakeTopic(ctx context.Context, partitions int) {
	s := &p.settings
	if s.Topic == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if n, err := s.Client.Partitions(ctx, s.Results); err == nil {
		partitions = max(partitions, n)
	}
	if err := s.Client.Ensure(ctx, topic.Description{Name: s.Topic, Partitions: partitions}); err != nil {
		s.Log.Warn("the topic of first answers cannot be made", "topic", s.Topic, "error", err)
	}
}
