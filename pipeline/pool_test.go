package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	learned "github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream"
)

// While a worker makes a metric it does the jobs of other streams that come meanwhile, and leaves those of
// the metric's own stream, which may wait for it.
func TestJobsComeBeforeMetrics(t *testing.T) {
	const d, classes, rows = 16, 2, 40
	random := rand.New(rand.NewPCG(3, 3))
	z, soft := make([]float32, rows*d), make([]float32, rows*classes)
	for i := range z {
		z[i] = float32(random.NormFloat64())
	}
	for i := range rows {
		soft[i*classes+i%classes] = 1
	}
	var seen *learned.Compact
	made := false
	from := &learned.Material{
		Seen: seen.With(z, soft, classes, d, true), Variety: 1, Classes: classes, Rank: 4, Shrink: .85,
	}

	owner := &partition{ctx: context.Background(), inbox: inbox{wake: make(chan struct{}, 1)}}
	waiting := func() *liveStream {
		s := &liveStream{partition: owner, memory: &stream.Stream{}}
		s.jobs = []*job{{
			stream: s, relearn: &view{}, poison: errors.New("not to be solved"),
			episode: &consumer.Episode{Items: make([]record.Item, 1)},
		}}
		return s
	}
	other, own := waiting(), waiting()
	p := &pool{busy: make([]busy, 1), ready: []*liveStream{other, own}}
	p.wake.L = &p.mutex
	done := -1
	next := learned.NewRefresh(1, from, func(*learned.Metric) {
		made = true
		p.mutex.Lock()
		defer p.mutex.Unlock()
		done = len(owner.inbox.jobs)
	})
	p.metrics = []making{{next, own}}
	p.mutex.Lock()
	p.makeMetric(0, nil)
	p.mutex.Unlock()
	if !made {
		t.Fatal("no metric was made: this test tests nothing")
	}
	if done != 1 || len(p.ready) != 1 || p.ready[0] != own {
		t.Errorf("%d jobs done meanwhile, %d left; not the other stream's alone", done, len(p.ready))
	}
}

// A partition reads no further than to keep the workers busy, unless what is closed waits for one stream.
func TestReadsWhatTheWorkersNeed(t *testing.T) {
	p := &partition{stage: &Stage{options: Options{InFlight: 8 << 20}, pool: &pool{busy: make([]busy, 2)}}}
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
		p.unsolved, p.inFlight = c.unsolved, c.inFlight
		if waiting(c.ready); p.full() != c.full {
			t.Errorf("full %v where %s", p.full(), c.what)
		}
	}
}
