package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/pipeline/health"
)

// Shares of the budget. Above the first, metrics are dropped and no new ones are made; above the second,
// streams are evicted; above the third, reading pauses. The rest is for garbage not collected yet.
const (
	metricShare = 60 // percent
	streamShare = 70
	pauseShare  = 80
	// enoughGiven is how far below a share memory is freed, so that the next byte does not exceed it again.
	enoughGiven = 5
)

// budget keeps a process within its bytes of memory. It measures the live heap, so that nothing is left out,
// and large allocations reserve their bytes in advance.
type budget struct {
	limit    int64        // 0: none
	live     func() int64 // bytes live at the last collection
	collect  func()
	reserved atomic.Int64

	used    atomic.Int64 // live bytes at the last check
	metrics atomic.Int64 // bytes of metrics that partitions must drop
	streams atomic.Int64 // bytes of streams that partitions must evict
	paused  atomic.Bool
	held    atomic.Pointer[usage]
	refused atomic.Int64 // reservations for metrics since the last check

	collected time.Time
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit, collect: runtime.GC, live: liveReader()}
	b.held.Store(&usage{})
	return b
}

// liveReader returns a function that returns the bytes live at the last collection. One goroutine at a time
// may call it.
func liveReader() func() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	return func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
}

// Reserve implements stream.Budget.
func (b *budget) Reserve(bytes int) (release func(), ok bool) {
	n := int64(bytes)
	release = func() { b.reserved.Add(-n) }
	after := b.reserved.Add(n) + max(b.used.Load(), 0)
	if b.limit > 0 && after > b.share(metricShare) {
		release()
		b.refused.Add(1)
		return nil, false
	}
	return release, true
}

func (b *budget) share(percent int64) int64 { return b.limit * percent / 100 }

// tight says whether metrics must not be kept if so many more bytes are used.
func (b *budget) tight(more int64) bool {
	return b.limit > 0 && b.used.Load()+more > b.share(metricShare)
}

// check measures memory and sets how much must be freed.
func (b *budget) check(now time.Time) {
	if b.limit == 0 {
		return
	}
	ofMetrics, ofStreams := b.held.Load().metrics, b.held.Load().streams
	used := b.live()
	if used > b.share(metricShare) && now.Sub(b.collected) >= time.Second {
		b.collected = now
		b.collect()
		used = b.live()
	}
	b.used.Store(used)
	used += b.reserved.Load()
	over := func(share, used, most int64) int64 {
		if used <= b.share(share) {
			return 0
		}
		return min(used-b.share(share-enoughGiven), most)
	}
	b.metrics.Store(over(metricShare, used, ofMetrics))
	// If evicting all streams would not be enough, something else holds the memory: evict none.
	asked := over(streamShare, used-ofMetrics, used)
	if asked > ofStreams {
		asked = 0
	}
	b.streams.Store(asked)
	if b.paused.Load() {
		b.paused.Store(used > b.share(pauseShare-enoughGiven))
	} else {
		b.paused.Store(used > b.share(pauseShare))
	}
}

// usage is the approximate memory of a process, by kind.
type usage struct{ labels, streams, metrics, episodes, first, recent int64 }

func (u *usage) each(show func(kind string, bytes int64)) {
	show("labels", u.labels)
	show("streams", u.streams)
	show("metrics", u.metrics)
	show("episodes", u.episodes)
	show("first-answers", u.first)
	show("recent", u.recent)
}

func (s *Stage) usage() usage {
	u := usage{
		episodes: int64(s.metrics.buffered.Sum() + s.metrics.inflight.Sum()), labels: s.labels.Bytes(),
	}
	for _, live := range s.remembered.Range {
		u.streams += live.(*liveStream).bytes.Load()
		u.metrics += live.(*liveStream).metricBytes.Load()
	}
	s.firsts.mutex.Lock()
	u.first = int64(s.firsts.bytes)
	s.firsts.mutex.Unlock()
	if s.options.Recent != nil {
		u.recent = s.options.Recent.Bytes()
	}
	return u
}

// guard measures the process's memory and sets what must be freed.
func (s *Stage) guard(now time.Time) {
	u := s.usage()
	s.memory.held.Store(&u)
	u.each(func(kind string, bytes int64) { s.metrics.memory.Set(float64(bytes), kind) })
	s.metrics.memoryUsed.Set(float64(s.memory.live()))
	s.memory.check(now)
	if s.memory.refused.Swap(0) > 0 {
		s.warned.Once("no metrics", func(int) {
			s.log.Warn("no metric is learned: it would take the memory over its budget",
				"memory", mebibytes(s.memory.limit), "do", "raise --memory; answers go on without")
		})
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%dMiB", n>>20) }

// troubles reports that reading is paused because memory is used up.
func (b *budget) troubles() []health.Trouble {
	if !b.paused.Load() {
		return nil
	}
	cause := "it is held by"
	b.held.Load().each(func(kind string, bytes int64) {
		if bytes >= b.limit/50 {
			cause += fmt.Sprintf(" %s %s", kind, mebibytes(bytes))
		}
	})
	return []health.Trouble{{
		Of: health.OfMemory, What: fmt.Sprintf("memory is used up, and reading waits: %s of %s", mebibytes(b.used.Load()),
			mebibytes(b.limit)),
		Cause: cause,
		Do: "raise --memory, share the input among more processes, or lower --max-memory or " +
			"--recent; it goes on by itself",
	}}
}

// relieve frees what the budget asks for: first metrics, the largest first, then the streams of least worth
// for their bytes.
func (p *partition) relieve(now time.Time) {
	b := p.stage.memory
	if b.metrics.Load() > 0 {
		p.dropMetrics(now)
	}
	if b.streams.Load() <= 0 || p.ledger.commits.sending != nil || !p.intake.caughtUp() || p.intake.replay.left > 0 {
		return
	}
	var list []*liveStream
	for _, s := range p.leastWorth(func(s *liveStream) float64 {
		return s.worth(p.intake.position.Offset) / float64(max(s.bytes.Load(), 1))
	}) {
		if b.streams.Add(-s.bytes.Load()) <= -s.bytes.Load() {
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
			cmp.Compare(a.key.Name, b.key.Name))
	})
	dropped := 0
	for _, s := range list {
		if s.metricBytes.Load() == 0 || p.stage.memory.metrics.Load() <= 0 {
			break
		}
		if !s.working.TryLock() {
			continue
		}
		p.stage.memory.metrics.Add(-s.metricBytes.Load())
		s.memory.DropMetric()
		s.measure()
		s.working.Unlock()
		dropped++
		p.ledger.saver.changed(s, now)
	}
	if dropped == 0 {
		return
	}
	p.stage.metrics.metricsDropped.Add(float64(dropped))
	p.intake.warned.Once("metrics", func(int) {
		p.log.Warn("metrics of streams given up: memory is used up", "streams", dropped,
			"memory", mebibytes(p.stage.memory.limit))
	})
}

// measure stores the size of the stream's memory. The caller holds working.
func (s *liveStream) measure() {
	rest, ofMetric := s.memory.Bytes()
	s.bytes.Store(int64(rest + ofMetric))
	s.metricBytes.Store(int64(ofMetric))
}
