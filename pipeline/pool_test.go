package pipeline

import "testing"

// A partition reads ahead only as far as needed to keep the workers busy, unless its closed episodes wait
// for one stream.
func TestReadsWhatTheWorkersNeed(t *testing.T) {
	p := &partition{stage: &Stage{
		options: Options{InFlight: 8 << 20}, pool: &pool{busy: make([]busy, 2)}, memory: newBudget(0),
	}}
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
