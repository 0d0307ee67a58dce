// Package budget keeps a process within its bytes of memory, and its garbage collector with it.
package budget

import (
	"fmt"
	"runtime"
	"runtime/metrics"
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

// Budget keeps a process within its bytes of memory. It measures the live heap, so that nothing is left out,
// and large allocations reserve their bytes in advance.
type Budget struct {
	Limit    int64        // 0: none
	Live     func() int64 // bytes live at the last collection
	Collect  func()
	reserved atomic.Int64

	used    atomic.Int64 // live bytes at the last check
	Metrics atomic.Int64 // bytes of metrics that partitions must drop
	Streams atomic.Int64 // bytes of streams that partitions must evict
	Paused  atomic.Bool
	Held    atomic.Pointer[Usage]
	Refused atomic.Int64 // reservations for metrics since the last check

	collected time.Time
}

func New(limit int64) *Budget {
	b := &Budget{Limit: limit, Collect: runtime.GC, Live: liveReader()}
	b.Held.Store(&Usage{})
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
func (b *Budget) Reserve(bytes int) (release func(), ok bool) {
	n := int64(bytes)
	release = func() { b.reserved.Add(-n) }
	after := b.reserved.Add(n) + max(b.used.Load(), 0)
	if b.Limit > 0 && after > b.share(metricShare) {
		release()
		b.Refused.Add(1)
		return nil, false
	}
	return release, true
}

func (b *Budget) share(percent int64) int64 { return b.Limit * percent / 100 }

// Tight says whether metrics must not be kept if so many more bytes are used.
func (b *Budget) Tight(more int64) bool {
	return b.Limit > 0 && b.used.Load()+more > b.share(metricShare)
}

// Check measures memory and sets how much must be freed.
func (b *Budget) Check(now time.Time) {
	if b.Limit == 0 {
		return
	}
	ofMetrics, ofStreams := b.Held.Load().Metrics, b.Held.Load().Streams
	used := b.Live()
	if used > b.share(metricShare) && now.Sub(b.collected) >= time.Second {
		b.collected = now
		b.Collect()
		used = b.Live()
	}
	b.used.Store(used)
	used += b.reserved.Load()
	over := func(share, used, most int64) int64 {
		if used <= b.share(share) {
			return 0
		}
		return min(used-b.share(share-enoughGiven), most)
	}
	b.Metrics.Store(over(metricShare, used, ofMetrics))
	// If evicting all streams would not be enough, something else holds the memory: evict none.
	asked := over(streamShare, used-ofMetrics, used)
	if asked > ofStreams {
		asked = 0
	}
	b.Streams.Store(asked)
	if b.Paused.Load() {
		b.Paused.Store(used > b.share(pauseShare-enoughGiven))
	} else {
		b.Paused.Store(used > b.share(pauseShare))
	}
}

// Usage is the approximate memory of a process, by kind.
type Usage struct{ Labels, Streams, Metrics, Episodes, First, Recent int64 }

func (u *Usage) Each(show func(kind string, bytes int64)) {
	show("labels", u.Labels)
	show("streams", u.Streams)
	show("metrics", u.Metrics)
	show("episodes", u.Episodes)
	show("first-answers", u.First)
	show("recent", u.Recent)
}

// Mebibytes writes a number of bytes.
func Mebibytes(n int64) string { return fmt.Sprintf("%dMiB", n>>20) }

// Troubles reports that reading is paused because memory is used up.
func (b *Budget) Troubles() []health.Trouble {
	if !b.Paused.Load() {
		return nil
	}
	cause := "it is held by"
	b.Held.Load().Each(func(kind string, bytes int64) {
		if bytes >= b.Limit/50 {
			cause += fmt.Sprintf(" %s %s", kind, Mebibytes(bytes))
		}
	})
	return []health.Trouble{{
		Of: health.OfMemory, What: fmt.Sprintf("memory is used up, and reading waits: %s of %s", Mebibytes(b.used.Load()),
			Mebibytes(b.Limit)),
		Cause: cause,
		Do: "raise --memory, share the input among more processes, or lower --max-memory or " +
			"--recent; it goes on by itself",
	}}
}
