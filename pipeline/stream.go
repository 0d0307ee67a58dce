package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/solver/stream"
)

// liveStream is one stream's queue. Its jobs are done one after the other, by whichever worker
// is free; its memory and labels belong to the job that is being done. The partition is told of a job before
// all of it is learned: working is held until it is.
type liveStream struct {
	working     sync.Mutex
	key         consumer.Key
	partition   *partition
	memory      *stream.Stream
	learned     record.Position // the last item of the last episode
	labels      []int64         // the labels it last answered by
	learning    time.Duration   // what it took to learn of the last episode, after its answers
	learnedTime time.Time       // event time of the last item of the last episode

	first atomic.Pointer[firstStream] // nil: none of its items was answered at once

	bytes, metricBytes atomic.Int64 // about what its memory holds, and its metric of that

	// Of the pool, under its lock.
	jobs    []*job
	running bool

	// Of the partition's owner.
	unsaved      bool // has learned what no snapshot holds or will hold
	saving       bool // a snapshot is being taken
	gone         bool // given up
	saved        time.Time
	size         int       // of its last snapshot, or what one is thought to take; 0: not known
	pending      int       // jobs given to the workers and not taken back
	answeredTime time.Time // event time of the partition at its last answered item
	episodes     int64     // that it has answered
	taught       bool      // its own items have taught it
}

// job is something to do for a stream: answer an episode, learn it again without answering, or take a
// snapshot.
type job struct {
	stream  *liveStream
	episode *consumer.Episode // nil: take a snapshot
	relearn *view             // the labels that the episode was answered by: it is learned without a word
	poison  error             // why the episode must not be solved; nil: it may
	closed  time.Time         // when the episode closed, by the wall clock

	// What came of it.
	records  []record.Out
	bytes    int64 // of records
	labels   []int64
	snapshot *state.Snapshot
	report   stream.Report
	took     time.Duration
	learned  time.Duration // how long that took of the episode before
	kept     *recent.Block // its recent items; nil: none are kept
	unknown  int
	answered bool
	rejected error // why the memory could not answer: the items are in the dead letters

	items   []stream.Item // for first answers, until they have followed
	answers []stream.Answer
}

// attempt does the job on a worker. A panic, and an episode that hung its owners before, is the fault of
// this job alone: its items go to the dead letters and the others go on.
func (j *job) attempt(ctx context.Context, engine *stream.Engine) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(fmt.Errorf("stream %s: %v\n%s", j.stream.key.Stream, p, debug.Stack()))
		}
	}()
	if j.poison != nil {
		j.fail(j.poison)
		return
	}
	j.do(ctx, engine)
}

// fail makes dead letters of an episode's items.
func (j *job) fail(err error) {
	j.rejected = err
	if j.episode == nil {
		return
	}
	j.stream.learned = j.episode.Last()
	if j.relearn == nil {
		j.records, j.bytes, j.unknown = nil, 0, 0
		j.reject(err)
	}
}

func (j *job) do(ctx context.Context, engine *stream.Engine) {
	s := j.stream
	if j.episode == nil {
		j.snapshot = s.snapshot()
		return
	}
	v := j.relearn
	if v == nil {
		v = s.partition.stage.labels.current.Load()
	}
	begin := time.Now()
	answers, err := j.answer(ctx, engine, v)
	if ctx.Err() != nil {
		return // given up: the partition's next owner answers
	}
	j.took, j.learned, s.learning = time.Since(begin), s.learning, 0
	j.labels = v.next
	s.learned, s.labels = j.episode.Last(), v.next
	if reached := j.episode.Reached; !reached.IsZero() {
		s.learnedTime = reached
	}
	switch {
	case j.relearn != nil:
		if err == nil {
			j.keep(answers)
		}
	case err != nil:
		j.rejected = err
		j.reject(err)
	default:
		results, reviews := j.encode(answers)
		j.keep(answers)
		if watching := s.partition.stage.options.Observer; watching != nil {
			told := &Answered{Episode: j.episode, Results: results, Reviews: reviews, Report: j.report, Solved: engine.Solved(), Labels: v.labels, Unknown: j.unknown, Took: j.took}
			s.partition.tell(watching, told)
		}
	}
}

// tell tells an observer, whose panics are not the episode's.
func (p *partition) tell(watching Observer, a *Answered) {
	defer func() {
		if fault := recover(); fault != nil {
			p.log.Error("the observer failed", "error", fault, "stack", string(debug.Stack()))
		}
	}()
	watching.Answered(a)
}

// answer asks the memory. A panic below is an error of this episode alone: the others go on.
func (j *job) answer(ctx context.Context, engine *stream.Engine, v *view) (answers []stream.Answer, err error) {
	s := j.stream
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stream %s: %v\n%s", s.key.Stream, p, debug.Stack())
		}
	}()
	for _, r := range v.resets {
		if slices.Equal(s.labels, v.next) {
			break // as mostly: there is nothing new
		}
		if s.learned != record.NoPosition && r.after(s.labels) && (r.Stream == "" || r.Stream == s.key.Stream) {
			s.memory.Reset(r.Class)
		}
	}
	if d := s.memory.Dimension(); d != 0 && d != len(j.episode.Items[0].Vector) {
		s.memory.Reset("") // what it learned is of a dimension that records do not agree on any more
	}
	items := make([]stream.Item, len(j.episode.Items))
	for i := range items {
		items[i] = streamItem(&j.episode.Items[i])
	}
	answers, j.report, err = s.memory.Answer(ctx, engine, items, v.labels)
	if s.first.Load() != nil {
		j.items, j.answers = items, answers
	}
	return answers, err
}

// streamItem is an item as a stream knows it.
func streamItem(it *record.Item) stream.Item {
	return stream.Item{
		ID: it.Name(), Vector: it.Vector, Label: it.Label, Model: it.Model,
		Position: stream.Position(it.Source.Position()), Frame: it.Frame, Track: it.Track,
	}
}

// learn does what an answered episode has left to learn. What panics is not learned: answers stand.
func (s *liveStream) learn() {
	begin := time.Now()
	defer func() {
		s.measure()
		s.learning = time.Since(begin)
		if p := recover(); p != nil {
			s.partition.log.Error("an episode could not be learned from in full", "stream", s.key.Stream, "error", p,
				"stack", string(debug.Stack()))
		}
	}()
	s.memory.Learn()
}

// snapshot is what the stream remembers now.
func (s *liveStream) snapshot() *state.Snapshot {
	return &state.Snapshot{
		Stream: state.Stream{Name: s.key.Stream, Model: s.key.Model}, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime,
		Pieces: s.memory.State(),
	}
}
