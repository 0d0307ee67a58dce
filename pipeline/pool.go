package pipeline

import (
	"sync"
	"time"

	"slkstream/internal/memory"
)

// pool does the jobs of all streams on a few workers, each with an engine of its own. Jobs of one stream are done in
// order; a stream with many waiting gives way to the others after each.
type pool struct {
	mutex   sync.Mutex
	wake    sync.Cond
	ready   []*stream // with a job to do and none being done
	closed  bool
	workers sync.WaitGroup
	busy    []busy // what each worker does now
}

type busy struct {
	stream *stream
	since  time.Time
}

func newPool(workers int, settings memory.Settings) (*pool, error) {
	p := &pool{busy: make([]busy, workers)}
	p.wake.L = &p.mutex
	engines := make([]*memory.Engine, workers)
	for i := range engines {
		var err error
		if engines[i], err = memory.NewEngine(settings); err != nil {
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

func (p *pool) work(worker int, engine *memory.Engine) {
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
		s := p.ready[0]
		p.ready[0] = nil
		p.ready = p.ready[1:]
		j := s.jobs[0]
		s.jobs[0] = nil
		s.jobs = s.jobs[1:]
		s.running = true
		p.busy[worker] = busy{s, time.Now()}
		p.mutex.Unlock()

		if s.partition.ctx.Err() == nil {
			j.do(s.partition.ctx, engine)
		}
		s.partition.finish(j)
		if next := s.memory.Refresh(); next != nil && s.partition.ctx.Err() == nil {
			next.Compute() // the answers are on their way: nobody waits for the next metric yet
		}

		p.mutex.Lock()
		p.busy[worker] = busy{}
		s.running = false
		if len(s.jobs) > 0 {
			p.ready = append(p.ready, s)
			p.wake.Signal()
		}
	}
}

// hung is a stream that a worker has been busy with for longer than limit.
func (p *pool) hung(limit time.Duration) (*stream, time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, b := range p.busy {
		if b.stream != nil && time.Since(b.since) > limit {
			return b.stream, time.Since(b.since)
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
