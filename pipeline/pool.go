package pipeline

import (
	"runtime"
	"sync"
	"time"

	"github.com/slkstream/slkstream/solver/stream"
)

// pool runs the jobs of all streams on a few workers, each with its own engine. Jobs of one stream run in
// order. A stream with many waiting jobs goes to the back of the queue after each.
type pool struct {
	mutex   sync.Mutex
	wake    sync.Cond
	ready   []*liveStream // streams with a waiting job and none running
	closed  bool
	workers sync.WaitGroup
	busy    []busy // each worker's running job
}

type busy struct {
	job   *job // nil: none
	since time.Time
}

func newPool(workers int) *pool {
	p := &pool{busy: make([]busy, workers)}
	p.wake.L = &p.mutex
	for i := range workers {
		p.workers.Add(1)
		go p.work(i, new(stream.Engine))
	}
	return p
}

func (p *pool) submit(j *job) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := j.stream
	s.jobs = append(s.jobs, j)
	if !s.running && len(s.jobs) == 1 {
		p.ready = append(p.ready, s)
		p.wake.Signal()
	}
}

func (p *pool) work(worker int, engine *stream.Engine) {
	defer p.workers.Done()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for {
		for len(p.ready) == 0 && !p.closed {
			p.wake.Wait()
		}
		if p.closed {
			return
		}
		p.do(worker, engine)
	}
}

// do runs the first ready job. The lock is held except while the job runs.
func (p *pool) do(worker int, engine *stream.Engine) {
	s := p.ready[0]
	p.ready[0] = nil
	p.ready = p.ready[1:]
	j := s.jobs[0]
	s.jobs[0] = nil
	s.jobs = s.jobs[1:]
	s.running = true
	p.busy[worker] = busy{j, time.Now()}
	p.mutex.Unlock()

	s.working.Lock()
	if s.partition.ctx.Err() == nil {
		j.attempt(s.partition.ctx, engine)
	}
	s.partition.inbox.put(j)
	// A busy worker would keep its core for ten milliseconds, while fetches, writes and acknowledgements need
	// one several times for each commit.
	runtime.Gosched()
	s.learn()
	s.partition.guarded("first answers could not follow", s.key.Name, j.follow)
	s.working.Unlock()
	if s.first.Load() != nil {
		s.partition.first.wakeUp() // items may wait for the stream
	}

	p.mutex.Lock()
	p.busy[worker] = busy{}
	s.running = false
	if len(s.jobs) > 0 {
		p.ready = append(p.ready, s)
		p.wake.Signal()
	}
}

// busyFor says whether at least so many streams for each worker are ready.
func (p *pool) busyFor(each int) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.ready) > each*len(p.busy)
}

// hung is a job that has run for longer than limit; nil: none.
func (p *pool) hung(limit time.Duration) (*job, time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, b := range p.busy {
		if b.job != nil && time.Since(b.since) > limit {
			return b.job, time.Since(b.since)
		}
	}
	return nil, 0
}

// close stops each worker after its running job.
func (p *pool) close() {
	p.mutex.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mutex.Unlock()
	p.workers.Wait()
}
