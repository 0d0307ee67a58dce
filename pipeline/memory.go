package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/pipeline/budget"
)

// usage is the approximate memory of the process.
func (s *Stage) usage() budget.Usage {
	u := budget.Usage{
		Episodes: int64(s.metrics.buffered.Sum() + s.metrics.inflight.Sum()), Labels: s.labels.Bytes(),
	}
	for _, live := range s.remembered.Range {
		u.Streams += live.(*liveStream).bytes.Load()
		u.Metrics += live.(*liveStream).metricBytes.Load()
	}
	u.First = s.first.Bytes()
	if s.options.Recent != nil {
		u.Recent = s.options.Recent.Bytes()
	}
	return u
}

// guard measures the process's memory and sets what must be freed.
func (s *Stage) guard(now time.Time) {
	u := s.usage()
	s.memory.Held.Store(&u)
	u.Each(func(kind string, bytes int64) { s.metrics.memory.Set(float64(bytes), kind) })
	s.metrics.memoryUsed.Set(float64(s.memory.Live()))
	s.memory.Check(now)
	if s.memory.Refused.Swap(0) > 0 {
		s.warned.Once("no metrics", func(int) {
			s.log.Warn("no metric is learned: it would take the memory over its budget",
				"memory", budget.Mebibytes(s.memory.Limit), "do", "raise --memory; answers go on without")
		})
	}
}

// relieve frees what the budget asks for: first metrics, the largest first, then the streams of least worth
// for their bytes.
func (p *partition) relieve(now time.Time) {
	b := p.stage.memory
	if b.Metrics.Load() > 0 {
		p.dropMetrics(now)
	}
	if b.Streams.Load() <= 0 || p.ledger.commits.sending != nil || !p.intake.caughtUp() || p.intake.replay.left > 0 {
		return
	}
	var list []*liveStream
	for _, s := range p.leastWorth(func(s *liveStream) float64 {
		return s.worth(p.intake.position.Offset) / float64(max(s.bytes.Load(), 1))
	}) {
		if b.Streams.Add(-s.bytes.Load()) <= -s.bytes.Load() {
			break
		}
		list = append(list, s)
	}
	p.giveUp(list, "memory", "streams given up, the least lasting for their bytes first: memory is used up")
}

// dropMetrics drops metrics of streams that no worker is using.
func (p *partition) dropMetrics(now time.Time) {
	list := slices.SortedFunc(maps.Values(p.answering.streams), func(a, b *liveStream) int {
		return cmp.Or(cmp.Compare(b.metricBytes.Load(), a.metricBytes.Load()),
			cmp.Compare(a.Key.Name, b.Key.Name))
	})
	dropped := 0
	for _, s := range list {
		if s.metricBytes.Load() == 0 || p.stage.memory.Metrics.Load() <= 0 {
			break
		}
		if !s.TryLock() {
			continue
		}
		p.stage.memory.Metrics.Add(-s.metricBytes.Load())
		s.Memory.DropMetric()
		s.measure()
		s.Unlock()
		dropped++
		p.ledger.saver.changed(s, now)
	}
	if dropped == 0 {
		return
	}
	p.stage.metrics.metricsDropped.Add(float64(dropped))
	p.intake.warned.Once("metrics", func(int) {
		p.log.Warn("metrics of streams given up: memory is used up", "streams", dropped,
			"memory", budget.Mebibytes(p.stage.memory.Limit))
	})
}

// measure stores the size of the stream's memory. The caller holds its lock.
func (s *liveStream) measure() {
	rest, ofMetric := s.Memory.Bytes()
	s.bytes.Store(int64(rest + ofMetric))
	s.metricBytes.Store(int64(ofMetric))
}
