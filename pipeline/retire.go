package pipeline

import (
	"time"

	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/budget"
)

// usage is the approximate memory of the process.
func (s *Stage) usage() budget.Usage {
	u := budget.Usage{
		Episodes: int64(s.metrics.buffered.Sum() + s.metrics.inflight.Sum()), Labels: s.labels.Bytes(), First: s.firstAnswers.Bytes(),
	}
	u.Streams, u.Metrics = s.answers.Known.Bytes()
	if s.options.Recent != nil {
		u.Recent = s.options.Recent.Bytes()
	}
	return u
}

// guard measures the process's memory and sets what must be freed.
func (s *Stage) guard(now time.Time) {
	u := s.usage()
	s.answers.Budget.Held.Store(&u)
	u.Each(func(kind string, bytes int64) { s.metrics.memory.Set(float64(bytes), kind) })
	s.metrics.memoryUsed.Set(float64(s.answers.Budget.Live()))
	s.answers.Budget.Check(now)
	if s.answers.Budget.Refused.Swap(0) > 0 {
		s.warned.Once("no metrics", func(int) {
			s.options.Log.Warn("no metric is learned: it would take the memory over its budget",
				"memory", budget.Mebibytes(s.answers.Budget.Limit), "do", "raise --memory; answers go on without")
		})
	}
}

// free gives up what memory, or the number and the silence of streams, asks for. Streams leave only while no commit is in
// flight: the end of one that is takes them, as commits may follow one another so closely that each tick finds one.
func (p *partition) free(now time.Time) {
	p.postponed = p.ledger.Sending()
	p.relieve(now)
	p.retire(now)
}

// relieve frees what the budget asks for: first silent streams wait in the state topic, then metrics go, the largest
// first, then the streams of least worth for their bytes.
func (p *partition) relieve(now time.Time) {
	b := p.Budget
	if (b.Metrics.Load() > 0 || b.Streams.Load() > 0) && p.mayEvict() {
		p.away(p.answering.PutAwayForMemory(now, p.ledger.Saves()))
	}
	if b.Metrics.Load() > 0 {
		p.dropMetrics(now)
	}
	if b.Streams.Load() > 0 && p.mayEvict() {
		p.evict(p.answering.ForMemory(p.intake.Position().Offset), "memory",
			"streams given up, the least lasting for their bytes first: memory is used up")
	}
}

func (p *partition) dropMetrics(now time.Time) {
	dropped := p.answering.DropMetrics()
	for _, s := range dropped {
		p.ledger.Saver.Changed(s, now)
	}
	if len(dropped) == 0 {
		return
	}
	p.stage.metrics.metricsDropped.Add(float64(len(dropped)))
	p.warned.Once("metrics", func(int) {
		p.Log.Warn("metrics of streams given up: memory is used up", "streams", len(dropped),
			"memory", budget.Mebibytes(p.Budget.Limit))
	})
}

// mayEvict says whether streams may be evicted now: no commit is in flight, and nothing is replayed.
func (p *partition) mayEvict() bool {
	return !p.ledger.Sending() && p.intake.CaughtUp() && p.intake.Relearning() == 0
}

// retire evicts streams that have been silent for longer than StateTTL, by event time, so that eviction is a
// function of the input. If there are too many streams, those worth least go.
func (p *partition) retire(now time.Time) {
	if !p.mayEvict() {
		return
	}
	o := &p.stage.options
	p.evict(p.answering.Beyond(o.MaxStreams, p.intake.Position().Offset), "too-many",
		"streams given up, the shortest and longest silent first: there are more than a partition remembers")
	if now.Sub(p.retired) < min(10*time.Second, max(o.StateTTL, time.Second)) {
		return
	}
	p.retired = now
	saves := p.ledger.Saves()
	p.away(p.answering.PutAway(now, saves))
	from := p.ledger.Restart(p.intake.Restart()).From
	forgotten := p.answering.ForgetEvicted(from, saves)
	if o.StateTTL > 0 {
		for _, s := range p.answering.ForgetSilent(p.intake.High().Add(-o.StateTTL), from, saves) {
			forgotten = true
			p.drop(s)
			p.extensions.forgotten(s.Key)
			p.stage.metrics.retired.Add(1, "silent")
			p.Log.Info("stream retired: silent for longer than state-ttl", "stream", s.Key.Name, "model", s.Key.Model,
				"last", s.LastTime())
		}
	}
	p.ledger.Forgotten(forgotten)
}

// away frees what else is kept of streams that were put away.
func (p *partition) away(list []*answering.Stream) {
	for _, s := range list {
		p.stage.firstAnswers.Release(&s.Stream)
	}
}

// evict gives up streams of which no worker has a job.
func (p *partition) evict(list []*answering.Stream, reason, why string) {
	if len(list) == 0 {
		return
	}
	p.ledger.Save(p.answering.Evict(list)...)
	for _, s := range list {
		p.drop(s)
		p.extensions.forgotten(s.Key)
	}
	p.stage.metrics.retired.Add(float64(len(list)), reason)
	p.warned.Once("streams "+reason, func(times int) {
		p.Log.Warn(why, "streams", len(list), "most", p.stage.options.MaxStreams, "times", times)
	})
}
