package pipeline

import (
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/wing"
	"github.com/slkstream/slkstream/solver/stream"
)

// answering is the second station: it owns the streams of a partition, with their memories, and has the stage's
// workers answer their episodes, those of a stream one after the other.
type answering struct {
	of       *ownership
	streams  map[record.Stream]*liveStream
	jobs     int     // given to the workers and not collected
	unsolved int64   // bytes of closed episodes that wait for a worker
	retired  retired // evicted streams
}

// Submit has a closed episode answered.
func (a *answering) Submit(c closed) *job {
	a.unsolved += c.episode.Bytes
	j := &job{closed: c, stream: a.stream(c.episode.Key)}
	a.submit(j)
	return j
}

func (a *answering) submit(j *job) {
	a.jobs++
	j.of = a.of
	j.stream.pending++
	a.of.stage.pool.submit(j)
}

// Done passes what workers have done to Collect.
func (a *answering) Done() <-chan []*job { return a.of.done.jobs }

// Collect takes jobs back, and returns those that count: none once the partition is released.
func (a *answering) Collect(jobs []*job) []*job {
	for _, j := range jobs {
		a.jobs--
		j.stream.pending--
		if j.episode != nil {
			a.unsolved -= j.episode.Bytes
		}
	}
	if a.of.ctx.Err() != nil {
		return nil
	}
	return jobs
}

// stream returns a stream, which starts if it is new.
func (a *answering) stream(key record.Stream) *liveStream {
	s := a.streams[key]
	if s == nil {
		s = &liveStream{
			Stream: wing.Stream{
				Key: key, At: a.of.TopicPartition, Memory: stream.New(key.Name, a.of.stage.options.Memory),
			},
			learned: record.NoPosition, saved: time.Now(),
		}
		a.streams[key] = s
		a.of.stage.remembered.Store(s.Key, s)
	}
	return s
}

// read returns items with their streams.
func (a *answering) read(items []*record.Item) []wing.Read {
	list := make([]wing.Read, len(items))
	for i, it := range items {
		list[i] = wing.Read{Item: it, Stream: &a.stream(it.Of()).Stream}
	}
	return list
}

// busy says whether reading further ahead only fills memory: enough waits here, and the workers have enough to
// do. If few streams are ready, as when a topic holds items of one stream in long runs, reading continues to
// find others. A partition with unsolved episodes is woken when a worker is done and checks again.
func (a *answering) busy() bool {
	return a.unsolved >= unsolvedMost && a.of.stage.pool.busyFor(readyMost)
}

// unsolvedMost bytes of closed episodes may wait in a partition however busy the workers are: about one
// fetch. Beyond that, reading waits once each worker has readyMost streams to work on.
const (
	unsolvedMost = 1 << 20
	readyMost    = 2
)

// finished passes jobs from the workers to the partition's owner, as many at a time as are done.
type finished struct {
	mutex sync.Mutex
	jobs  chan []*job // with room for one list
}

func (f *finished) put(j *job) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var before []*job
	select {
	case before = <-f.jobs:
	default:
	}
	f.jobs <- append(before, j) // has room: only put fills it, and one at a time
}

// teaches says whether items of the episode teach.
func teaches(items []record.Item) bool {
	return slices.ContainsFunc(items, func(it record.Item) bool { return it.Label != "" })
}
