package answering

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Reading ahead goes on only as far as needed to keep the workers busy, unless closed episodes wait for one stream.
func TestReadsWhatTheWorkersNeed(t *testing.T) {
	pool := &Pool{busy: make([]busy, 2)}
	a := New(&Owner{Settings: &Settings{Pool: pool}})
	for _, c := range []struct {
		unsolved int64
		ready    int
		busy     bool
		what     string
	}{
		{0, 100, false, "nothing of its own waits"},
		{unsolvedMost, 2*readyMost + 1, true, "enough waits, and the workers are busy"},
		{unsolvedMost, 2 * readyMost, false, "other streams may keep a worker busy that would wait"},
	} {
		a.unsolved, pool.ready = c.unsolved, make([]*Stream, c.ready)
		if a.Busy() != c.busy {
			t.Errorf("busy %v where %s", a.Busy(), c.what)
		}
	}
}

// While another stream waits for its answer, learning waits; it is done before the stream's next job, and at
// once where nothing waits.
func TestAnswersComeBeforeLearning(t *testing.T) {
	pool := &Pool{busy: make([]busy, 1)}
	of := NewOwner(t.Context(), &Settings{Pool: pool}, topic.TopicPartition{}, nil, slog.New(slog.DiscardHandler))
	streams, jobs := make([]*Stream, 2), make([]*Job, 2)
	for i := range streams {
		streams[i] = &Stream{Stream: extension.Stream{Memory: stream.New("camera")}}
		jobs[i] = &Job{owner: of, Stream: streams[i], Closed: intake.Closed{Poison: errors.New("not solved here")}}
	}
	run := func(s *Stream, j *Job) {
		pool.mutex.Lock()
		defer pool.mutex.Unlock()
		pool.do(0, new(stream.Engine), s, j)
	}
	pool.ready = streams[1:]
	if run(streams[0], jobs[0]); streams[0].unlearned != jobs[0] || streams[0].learning != 0 {
		t.Fatal("a stream was learned from while another waited")
	}
	if run(streams[0], jobs[0]); streams[0].learning == 0 || len(pool.unlearned) != 1 {
		t.Error("a stream's next job came before what it had left to learn, or left nothing to learn")
	}
	large := &consumer.Episode{Bytes: 2 << 20, Items: make([]record.Item, 1)}
	run(
		streams[1],
		&Job{owner: of, Stream: streams[1], Closed: intake.Closed{Episode: large, Replay: new(labels.Version), Poison: jobs[1].Poison}},
	)
	if streams[1].unlearned != nil {
		t.Error("a copy of a large episode waits")
	}
	pool.ready = nil
	if run(streams[1], jobs[1]); streams[1].unlearned != nil || streams[1].learning == 0 {
		t.Error("nothing waited, and the stream was not learned from")
	}
	if run(streams[0], nil); streams[0].unlearned != nil || len(pool.unlearned) != 0 {
		t.Error("what was left to learn stays")
	}
}

// freed counts what it is told.
type freed struct {
	extension.Learner
	times int
}

func (*freed) Hold(*extension.Stream, record.Position) <-chan struct{} { return nil }
func (f *freed) Free(*extension.Stream)                                { f.times++ }

// What waits for a stream is told when its job is done, although the job wanted no memory of it.
func TestAJobWithoutMemoryFreesItsStream(t *testing.T) {
	pool, told := &Pool{busy: make([]busy, 1)}, new(freed)
	of := NewOwner(t.Context(), &Settings{Pool: pool}, topic.TopicPartition{}, nil, slog.New(slog.DiscardHandler))
	of.Learners = []extension.Learner{told}
	s := &Stream{asleep: new(state.Snapshot)}
	replayed := &consumer.Episode{Items: make([]record.Item, 1)}
	for i, c := range []intake.Closed{
		{}, {Episode: replayed, Replay: new(labels.Version), Poison: errors.New("not solved here")},
	} {
		pool.mutex.Lock()
		pool.do(0, new(stream.Engine), s, &Job{owner: of, Stream: s, Closed: c})
		pool.mutex.Unlock()
		if told.times != i+1 || s.Memory != nil {
			t.Errorf("job %d: told %d times, with memory %v", i, told.times, s.Memory)
		}
	}
}
