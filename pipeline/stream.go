package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/wing"
	"github.com/slkstream/slkstream/solver/stream"
)

// liveStream is one stream's queue. Any free worker does its jobs, one after the other; memory and labels
// belong to the running job, which holds the lock. The partition gets a job's answers before the
// memory has learned from them.
type liveStream struct {
	wing.Stream
	learned     record.Position // the last item of the last episode
	labels      []int64         // the labels in force at its last answer
	learning    time.Duration   // time to learn from the last episode, after its answers
	learnedTime time.Time       // event time of the partition at the last item of the last episode

	bytes, metricBytes atomic.Int64 // approximate size of its memory, and of the metric in it

	// Of the pool, under its lock.
	jobs      []*job
	running   bool
	unlearned *job // answered, but not learned from; nil: none

	// Of the partition's owner.
	unsaved  bool // has learned something that no snapshot holds or will hold
	saving   bool // a snapshot is being taken
	gone     bool // evicted
	saved    time.Time
	size     int   // bytes of its last snapshot, or an estimate; 0: not known
	pending  int   // jobs given to the workers and not taken back
	episodes int64 // that it has answered
	taught   bool  // its own items have taught it
}

// job is one task of a stream: answer an episode, replay one without emitting results, or take a snapshot.
type job struct {
	of     *ownership
	stream *liveStream
	closed // without an episode: take a snapshot

	// The outcome.
	keys     []string // of its items' positions; see record.ItemKey
	records  []record.Out
	bytes    int64 // of records
	labels   []int64
	snapshot *state.Snapshot
	report   stream.Report
	took     time.Duration
	learned  time.Duration // time spent learning from the episode before
	unknown  int
	done     bool
	rejected error // why it could not be answered: its items go to the dead letters

	answers []stream.Answer   // nil: it could not be answered
	after   []<-chan struct{} // its results are not committed before all are closed
}

// attempt runs the job on a worker. If it panics, or hung earlier owners, only this job fails: its items go
// to the dead letters.
func (j *job) attempt(ctx context.Context, engine *stream.Engine) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(fmt.Errorf("stream %s: %v\n%s", j.stream.Key.Name, p, debug.Stack()))
		}
	}()
	if j.poison != nil {
		j.fail(j.poison)
		return
	}
	j.do(ctx, engine)
}

// fail makes dead letters from an episode's items.
func (j *job) fail(err error) {
	j.rejected = err
	if j.episode == nil {
		return
	}
	j.stream.passed(j.episode)
	if j.relearn == nil {
		j.records, j.answers, j.bytes, j.unknown = nil, nil, 0, 0
		j.settle()
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
		v = j.of.stage.labels.Current()
	}
	begin := time.Now()
	answers, err := j.answer(ctx, engine, v)
	if ctx.Err() != nil {
		return // the partition is released: its next owner answers
	}
	j.took, j.learned, s.learning = time.Since(begin), s.learning, 0
	j.labels = v.Next
	s.passed(j.episode)
	s.labels = v.Next
	switch {
	case j.relearn != nil:
		if err == nil {
			j.answers = answers
		}
	case err != nil:
		j.rejected = err
		j.settle()
		j.reject(err)
	default:
		j.settle()
		results, reviews := j.encode(answers, v)
		j.answers = answers
		if watching := j.of.stage.options.Observer; watching != nil {
			told := &Answered{
				Episode: j.episode,
				Results: results,
				Reviews: reviews,
				Report:  j.report,
				Solved:  engine.Solved(),
				Labels:  v.Labels,
				Unknown: j.unknown,
				Took:    j.took,
			}
			wing.Guard(j.of.log, "the observer failed", s.Key.Name, func() { watching.Answered(told) })
		}
	}
}

// answer lets the memory answer. A panic below fails this episode only.
func (j *job) answer(ctx context.Context, engine *stream.Engine, v *labels.Version) (answers []stream.Answer, err error) {
	s := j.stream
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stream %s: %v\n%s", s.Key.Name, p, debug.Stack())
		}
	}()
	if s.learned != record.NoPosition && !slices.Equal(s.labels, v.Next) { // else the usual case: no new labels
		v.Reset(s.Memory, s.Key.Name, s.labels)
	}
	if d := s.Memory.Dimension(); d != 0 && d != len(j.episode.Items[0].Vector) {
		s.Memory.Reset("") // what it learned has another dimension than the records have now
	}
	j.keys = wing.KeysOf(len(j.episode.Items), func(i int) *record.Item { return &j.episode.Items[i] })
	items := make([]stream.Item, len(j.episode.Items))
	for i := range items {
		items[i] = wing.ItemOf(&j.episode.Items[i], j.keys[i])
	}
	answers, j.report, err = s.Memory.Answer(ctx, engine, items, v.Labels)
	return answers, err
}

// forWings is the job's episode as wings see it.
func (j *job) forWings() *wing.Answered {
	return &wing.Answered{
		Episode: j.episode, Keys: j.keys, Answers: j.answers, Report: j.report, Labels: j.labels, Again: j.relearn != nil,
	}
}

// settle tells the wings that an episode's results come.
func (j *job) settle() {
	for _, w := range j.of.learners {
		if after := w.Settle(&j.stream.Stream, j.episode.Last()); after != nil {
			j.after = append(j.after, after)
		}
	}
}

// passed says that an episode is over for the stream: answered, or given up.
func (s *liveStream) passed(e *consumer.Episode) {
	s.learned = e.Last()
	if !e.Reached.IsZero() {
		s.learnedTime = e.Reached
	}
}

// episodeBytes returns the size of the job's episode; 0: it has none.
func (j *job) episodeBytes() int64 {
	if j.episode == nil {
		return 0
	}
	return j.episode.Bytes
}

// learn lets the memory, and the wings that look into it, learn from an answered job; nil: there is none. After a panic the
// answers stand.
func (s *liveStream) learn(j *job) {
	if j == nil {
		return
	}
	s.Lock()
	begin := time.Now()
	wing.Guard(j.of.log, "an episode could not be learned from in full", s.Key.Name, s.Memory.Learn)
	s.measure()
	s.learning = time.Since(begin)
	for _, w := range j.of.learners {
		if j.answers != nil {
			wing.Guard(j.of.log, "a wing could not follow", s.Key.Name, func() { w.Learned(&s.Stream, j.forWings()) })
		}
	}
	s.Unlock()
	for _, w := range j.of.learners {
		w.Free(&s.Stream)
	}
}

// snapshot encodes the stream's memory.
func (s *liveStream) snapshot() *state.Snapshot {
	return &state.Snapshot{
		Stream: s.Key, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime,
		Pieces: s.Memory.State(),
	}
}
