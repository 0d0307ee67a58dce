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
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// liveStream is one stream's queue. Any free worker does its jobs, one after the other; memory and labels
// belong to the running job, which holds the lock working. The partition gets a job's answers before the
// memory has learned from them.
type liveStream struct {
	working     sync.Mutex
	key         record.Stream
	at          topic.TopicPartition
	memory      *stream.Stream
	learned     record.Position // the last item of the last episode
	labels      []int64         // the labels in force at its last answer
	learning    time.Duration   // time to learn from the last episode, after its answers
	learnedTime time.Time       // event time of the partition at the last item of the last episode

	first atomic.Pointer[firstStream] // nil: no first answer yet

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

	answers []stream.Answer // nil: it could not be answered
	items   []stream.Item   // for first answers, until they know the episode
}

// attempt runs the job on a worker. If it panics, or hung earlier owners, only this job fails: its items go
// to the dead letters.
func (j *job) attempt(ctx context.Context, engine *stream.Engine) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(fmt.Errorf("stream %s: %v\n%s", j.stream.key.Name, p, debug.Stack()))
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
	case j.relearn != nil && err != nil:
	case err != nil:
		j.rejected = err
		j.reject(err)
	case j.relearn != nil:
		j.answers = answers
	default:
		results, reviews := j.encode(answers, v)
		j.answers = answers
		if watching := j.of.stage.options.Observer; watching != nil {
			j.of.first.settle(s, j.episode.Last()) // first answers reach the observer before, or are marked late
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
			j.of.guarded("the observer failed", s.key.Name, func() { watching.Answered(told) })
		}
	}
}

// answer lets the memory answer. A panic below fails this episode only.
func (j *job) answer(ctx context.Context, engine *stream.Engine, v *labels.Version) (answers []stream.Answer, err error) {
	s := j.stream
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stream %s: %v\n%s", s.key.Name, p, debug.Stack())
		}
	}()
	if s.learned != record.NoPosition && !slices.Equal(s.labels, v.Next) { // else the usual case: no new labels
		v.Reset(s.memory, s.key.Name, s.labels)
	}
	if d := s.memory.Dimension(); d != 0 && d != len(j.episode.Items[0].Vector) {
		s.memory.Reset("") // what it learned has another dimension than the records have now
	}
	j.keys = keysOf(len(j.episode.Items), func(i int) *record.Item { return &j.episode.Items[i] })
	items := make([]stream.Item, len(j.episode.Items))
	for i := range items {
		items[i] = streamItem(&j.episode.Items[i], j.keys[i])
	}
	answers, j.report, err = s.memory.Answer(ctx, engine, items, v.Labels)
	if s.first.Load() != nil {
		j.items = items
	}
	return answers, err
}

// passed says that an episode is over for the stream: answered, or given up.
func (s *liveStream) passed(e *consumer.Episode) {
	s.learned = e.Last()
	if !e.Reached.IsZero() {
		s.learnedTime = e.Reached
	}
}

// keysOf returns the keys of the positions of n items, which share memory.
func keysOf(n int, item func(int) *record.Item) []string {
	keys, ends := make([]string, n), make([]int, n)
	buffer := make([]byte, 0, 40*n)
	for i := range n {
		buffer = item(i).Source.AppendKey(buffer)
		ends[i] = len(buffer)
	}
	text, from := string(buffer), 0
	for i, to := range ends {
		keys[i], from = text[from:to], to
	}
	return keys
}

// streamItem converts a record's item, whose position has this key, to the stream's form.
func streamItem(it *record.Item, key string) stream.Item {
	name := key
	if it.Label != "" { // the stream keeps it, but not the keys of all items
		name = it.Name()
	}
	return stream.Item{
		ID: name, Vector: it.Vector, Label: it.Label, Model: it.Model,
		Position: stream.Position(it.Source.Position()), Frame: it.Frame, Track: it.Track,
	}
}

// episodeBytes returns the size of the job's episode; 0: it has none.
func (j *job) episodeBytes() int64 {
	if j.episode == nil {
		return 0
	}
	return j.episode.Bytes
}

// learn lets the memory, and first answers, learn from an answered job; nil: there is none. After a panic the
// answers stand.
func (s *liveStream) learn(j *job) {
	if j == nil {
		return
	}
	s.working.Lock()
	begin := time.Now()
	j.of.guarded("an episode could not be learned from in full", s.key.Name, s.memory.Learn)
	s.measure()
	s.learning = time.Since(begin)
	j.of.guarded("first answers could not follow", s.key.Name, j.follow)
	s.working.Unlock()
	if s.first.Load() != nil {
		j.of.first.wakeUp() // items may wait for the stream
	}
}

// snapshot encodes the stream's memory.
func (s *liveStream) snapshot() *state.Snapshot {
	return &state.Snapshot{
		Stream: s.key, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime,
		Pieces: s.memory.State(),
	}
}
