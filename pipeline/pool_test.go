package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/wing"
	"github.com/slkstream/slkstream/solver/stream"
)

// A partition reads ahead only as far as needed to keep the workers busy, unless its closed episodes wait
// for one stream.
func TestReadsWhatTheWorkersNeed(t *testing.T) {
	p := owned(
		&Stage{options: Options{Process: Process{InFlight: 8 << 20}}, pool: &pool{busy: make([]busy, 2)}, memory: budget.New(0)},
		nil,
	)
	waiting := func(n int) { p.stage.pool.ready = make([]*liveStream, n) }
	for _, c := range []struct {
		unsolved, inFlight int64
		ready              int
		full               bool
		what               string
	}{
		{0, 0, 100, false, "nothing of its own waits"},
		{unsolvedMost, unsolvedMost, 2*readyMost + 1, true, "enough waits, and the workers are busy"},
		{unsolvedMost, unsolvedMost, 2 * readyMost, false, "other streams may keep a worker busy that would wait"},
		{0, 8 << 20, 0, true, "the output does not take what is answered"},
	} {
		p.answering.unsolved, p.ledger.inFlight = c.unsolved, c.inFlight
		if waiting(c.ready); p.full() != c.full {
			t.Errorf("full %v where %s", p.full(), c.what)
		}
	}
}

// While another stream waits for its answer, learning waits; it is done before the stream's next job, and at
// once where nothing waits.
func TestAnswersComeBeforeLearning(t *testing.T) {
	pool := &pool{busy: make([]busy, 1)}
	of := owned(&Stage{pool: pool}, nil).ownership
	streams, jobs := make([]*liveStream, 2), make([]*job, 2)
	for i := range streams {
		streams[i] = &liveStream{Stream: wing.Stream{Memory: stream.New("camera")}}
		jobs[i] = &job{of: of, stream: streams[i], closed: closed{poison: errors.New("not solved here")}}
	}
	run := func(s *liveStream, j *job) {
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
	run(streams[1], &job{of: of, stream: streams[1], closed: closed{large, new(labels.Version), jobs[1].poison, time.Time{}}})
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
