package pipeline

import (
	"runtime"
	"sync"
	"time"

	"github.com/slkstream/slkstream/solver/stream"
)

// pool does the jobs of all streams on a few workers, each with an engine of its own. Jobs of one stream
// are done in order; a stream with many waiting gives way to the others after each.
type pool struct {
	mutex   sync.Mutex
	wake    sync.Cond
	ready   []*liveStream // with a job to do and none being done
	closed  bool
	workers sync.WaitGroup
	busy    []busy // what each worker does now
}

type busy struct {
	job   *job // nil: nothing
	since time.Time
}

func newPool(workers int, settings stream.Settings) (*pool, error) {
	p := &pool{busy: make([]busy, workers)}
	p.wake.L = &p.mutex
	engines := make([]*stream.Engine, workers)
	for i := range engines {
		var err error
		if engines[i], err = stream.NewEngine(settings); err != nil {
			return nil, err
		}
	}
	for i, engine := range engines {
		p.workers.Add(1)
		go p.work(i, engine)
	}
	return p, nil
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

// do does the first job that is ready, under the lock but for the job itself.
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
	// A worker with much to do would keep its core for ten milliseconds, and whoever fetches, writes or waits
	// for an acknowledgement needs one several times for each commit.
	runtime.Gosched()
	s.learn()
	j.follow()
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

// busyFor says whether so many streams for each worker, and more, are ready to be worked on.
func (p *pool) busyFor(each int) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.ready) > each*len(p.busy)
}

// hung is the job that a worker has been busy with for longer than limit; nil: none.
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

// close stops the workers, each after the job it does.
func (p *pool) close() {
	p.mutex.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mutex.Unlock()
	p.workers.Wait()
}
