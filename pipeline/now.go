package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// First answers come from one goroutine a partition. It gets the items as they are read, in order; it answers,
// writes, and waits for the acknowledgement. No episode waits for it, so no first answer is promised.
//
// An item has at most one from each owner of its partition, and none once its settled result may be written: items
// from before the claim get none, as an earlier owner may have settled them; settled items leave the queue; and a
// commit of results waits for the request in flight that has first answers of the same items.
const (
	nowQueued  = 8192        // items that wait, of a partition; more are left out
	nowRequest = time.Second // how long a broker may take for a request
)

// Why an item is left without a first answer, as the metric counts it; nowAnswered has one.
const (
	nowAnswered = "answered"
	nowEarlier  = "earlier" // it was there when the partition was claimed
	nowBehind   = "behind"  // older than NowWithin when it was read, and not the end of the partition
	nowLate     = "late"    // its turn came too late: it is settled, or read longer than NowWithin ago
	nowFull     = "full"    // too many wait, or too many streams want memory
	nowUnknown  = "unknown" // nothing is known to answer by
	nowRefused  = "refused" // the topic did not take it
)

// firstAnswers gives the items of one owned partition their first answers.
type firstAnswers struct {
	of     *ownership
	from   int64 // offsets below were there when the partition was claimed
	batch  []firstItem
	sender topic.Sender
	wake   chan struct{}
	done   chan struct{}

	// The request that is being made: answers, the record of each, and what the records are made of.
	given        []FirstAnswer
	out          []record.Out
	headers      []record.Header
	bytes        []byte
	alternatives []record.Alternative // of one answer

	mutex   sync.Mutex
	queue   []firstItem
	sending map[*firstStream]record.Position // the first item of each stream in the request on its way
	sent    chan struct{}                    // closed when that is over
	closed  bool
}

// firstItem is an item that waits.
type firstItem struct {
	stream *firstStream
	item   *record.Item
	read   time.Time
}

// answerAtOnce starts the first answers of a partition that was just claimed; nil where none are asked for.
func (o *ownership) answerAtOnce(ctx context.Context) (*firstAnswers, error) {
	if o.stage.options.Now == "" {
		return nil, nil
	}
	end, err := o.stage.client.Offset(ctx, o.Topic, o.Partition, topic.Latest, false)
	if err != nil {
		return nil, err
	}
	f := &firstAnswers{of: o, from: end, wake: make(chan struct{}, 1), done: make(chan struct{})}
	f.sender = topic.Sender{
		Client: o.stage.client, Origin: o.Partition, Patient: func(error, time.Duration) bool { return false },
	}
	go f.run()
	return f, nil
}

// read takes each item that goes into an episode.
func (f *firstAnswers) read(s *liveStream, it *record.Item, now time.Time) {
	if f == nil {
		return
	}
	if it.Source.Offset < f.from {
		f.count(1, nowEarlier)
		return
	}
	f.batch = append(f.batch, firstItem{s.known(), it, now})
}

// flush hands over what was read; behind leaves out what is older than NowWithin.
func (f *firstAnswers) flush(behind bool) {
	if f == nil || len(f.batch) == 0 {
		return
	}
	batch := f.batch
	f.batch = batch[:0]
	defer clear(batch)
	if behind {
		f.count(len(batch), nowBehind)
		return
	}
	f.mutex.Lock()
	over := max(0, len(f.queue)+len(batch)-nowQueued)
	if over = min(over, len(batch)); !f.closed {
		f.queue = append(f.queue, batch[:len(batch)-over]...)
	}
	f.mutex.Unlock()
	f.count(over, nowFull)
	f.wakeUp()
}

func (f *firstAnswers) wakeUp() {
	if f == nil {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *firstAnswers) count(n int, outcome string) {
	if n > 0 {
		f.of.stage.metrics.now.Add(float64(n), outcome)
	}
}

// settle takes an answered episode before its results are written. The results wait until the channel that it
// returns is closed; nil: they need not wait.
func (f *firstAnswers) settle(s *liveStream, last record.Position) <-chan struct{} {
	if f == nil {
		return nil
	}
	first := s.first.Load()
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

// stop ends the first answers and waits for the request on its way.
func (f *firstAnswers) stop() {
	if f == nil {
		return
	}
	f.mutex.Lock()
	f.closed, f.queue = true, nil
	f.mutex.Unlock()
	f.wakeUp()
	<-f.done
}

func (f *firstAnswers) run() {
	defer close(f.done)
	for range f.wake {
		f.mutex.Lock()
		queue, closed := f.queue, f.closed
		f.queue = nil
		f.mutex.Unlock()
		if closed {
			return
		}
		f.give(queue)
	}
}

// give answers items and writes the answers in one request. Items whose stream is being solved and has answered nothing
// yet wait for that.
func (f *firstAnswers) give(queue []firstItem) {
	within := f.of.stage.options.NowWithin
	var order []*firstStream
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
	f.count(late, nowLate)
	var waiting []firstItem
	f.given, f.out, f.headers, f.bytes = f.given[:0], f.out[:0], f.headers[:0], f.bytes[:0]
	if cap(f.given) > 1024 { // a burst is over
		f.given, f.out, f.headers, f.bytes = nil, nil, nil, nil
	}
	for _, s := range order {
		before, wait := len(f.given), []firstItem(nil)
		if f.of.guarded("items could not be answered at once", s.live.key.Name, func() { wait = f.answer(s, s.turn) }) {
			waiting = append(waiting, wait...)
		} else {
			f.given, f.out = f.given[:before], f.out[:before]
		}
		clear(s.turn)
		s.turn = s.turn[:0]
	}
	if len(waiting) > 0 {
		f.mutex.Lock()
		f.queue = append(waiting, f.queue...) // what came meanwhile is after it, stream by stream
		f.mutex.Unlock()
	}
	f.write()
}

// FirstAnswer is the first answer to an item.
type FirstAnswer struct {
	Late bool          // the observer had its episode already
	Took time.Duration // from reading the item to the acknowledgement

	firstItem
	id     string // of the item's answer
	answer *stream.Answer
}

// Item is what was answered.
func (a *FirstAnswer) Item() *record.Item { return a.item }

// answer answers items of one stream; wait are those that it cannot answer yet, which is told once it can.
func (f *firstAnswers) answer(s *firstStream, list []firstItem) (wait []firstItem) {
	keys := keysOf(len(list), func(i int) *record.Item { return list[i].item })
	items := make([]stream.Item, len(list))
	for i := range list {
		items[i] = streamItem(list[i].item, keys[i])
	}
	if known, full := s.ask(); !known && !full {
		if !s.live.working.TryLock() {
			return list // the worker tells when it is done
		}
		err := f.of.stage.learn(s, &items[0], nil, nil)
		s.live.working.Unlock()
		if err != nil {
			f.count(len(list), nowUnknown)
			return nil
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.knows == nil {
		f.count(len(list), nowFull)
		return nil
	}
	answers := s.now.Answer(items)
	if answers == nil {
		f.count(len(list), nowUnknown)
		return nil
	}
	for i := range answers {
		f.given = append(f.given, FirstAnswer{firstItem: list[i], id: record.ResultOf(keys[i]), answer: &answers[i]})
		f.encode(&f.given[len(f.given)-1])
	}
	return nil
}

// encode makes the record of a first answer. Bytes and headers that grow move, but those of earlier records
// stay where they were.
func (f *firstAnswers) encode(a *FirstAnswer) {
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
		Topic: f.of.stage.options.Now, Partition: -1, Key: it.Key, Value: value,
		Headers: f.headers[first:len(f.headers):len(f.headers)],
	})
}

// notSettled is Result.Settled of first answers.
var notSettled bool

// Result is the answer as it was written.
func (a *FirstAnswer) Result() record.Result { return a.result(nil) }

// result is Result, with its alternatives appended to others.
func (a *FirstAnswer) result(others []record.Alternative) (r record.Result) {
	say(&r, a.item, a.id, a.answer)
	r.Settled, r.Alternatives = &notSettled, others
	for _, other := range a.answer.Alternatives {
		r.Alternatives = append(r.Alternatives, record.Alternative(other))
	}
	return r
}

// write writes first answers once. What the topic does not take is counted, and nothing waits for it.
func (f *firstAnswers) write() {
	stage := f.of.stage
	begin := time.Now()
	out, kept := f.out[:0], f.given[:0]
	f.mutex.Lock()
	f.sending, f.sent = map[*firstStream]record.Position{}, make(chan struct{})
	late := 0
	for i := range f.given {
		r := &f.given[i]
		at := r.item.Source.Position()
		if !at.After(r.stream.settled) || begin.Sub(r.read) > stage.options.NowWithin || f.closed {
			late++
			continue
		}
		if _, on := f.sending[r.stream]; !on {
			f.sending[r.stream] = at
		}
		out, kept = append(out, f.out[i]), append(kept, *r)
	}
	f.mutex.Unlock()
	f.count(late, nowLate)
	err := f.send(out)
	f.mutex.Lock()
	f.sending = nil
	close(f.sent)
	f.mutex.Unlock()
	if err != nil {
		f.count(len(kept), nowRefused)
		stage.warned.Once("now", func(times int) {
			f.of.log.Warn("first answers are not written: the stage goes on without", "times", times, "error", err)
			stage.makeNow(context.Background(), 1)
		})
		return
	}
	f.count(len(kept), nowAnswered)
	acknowledged, took := time.Now(), stage.metrics.nowTook.Of()
	for i := range kept {
		kept[i].Took = acknowledged.Sub(kept[i].read)
		took.Observe(kept[i].Took.Seconds())
	}
	if told := stage.options.AnsweredFirst; told != nil && len(kept) > 0 {
		f.tell(told, kept)
	}
}

// tell passes first answers to the observer; none of their episodes is passed meanwhile. A panic is not the
// items' fault.
func (f *firstAnswers) tell(told func([]FirstAnswer), list []FirstAnswer) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i := range list {
		list[i].Late = !list[i].item.Source.Position().After(list[i].stream.settled)
	}
	f.of.guarded("the observer failed", "", func() { told(list) })
}

// send writes the records, and waits for no broker that fails.
func (f *firstAnswers) send(out []record.Out) error {
	ctx, cancel := context.WithTimeout(context.Background(), nowRequest)
	defer cancel()
	return f.sender.Write(ctx, out)
}

// makeNow makes the topic of first answers if it is missing, with at least so many partitions. Nothing waits for it.
func (s *Stage) makeNow(ctx context.Context, partitions int) {
	if s.options.Now == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if n, err := s.client.Partitions(ctx, s.options.Out); err == nil {
		partitions = max(partitions, n)
	}
	if err := s.client.Ensure(ctx, topic.Description{Name: s.options.Now, Partitions: partitions}); err != nil {
		s.log.Warn("the topic of first answers cannot be made", "topic", s.options.Now, "error", err)
	}
}
