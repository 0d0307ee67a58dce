package answering

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/solver/stream"
)

// Pool runs the jobs of all streams on a few workers, each with its own engine. Jobs of one stream run in
// order. A stream with many waiting jobs goes to the back of the queue after each. While episodes of other
// streams wait for their answers, what a stream has left to learn from its last one waits in turn, at most
// until the stream's next job.
type Pool struct {
	mutex     sync.Mutex
	wake      sync.Cond
	ready     []*Stream // streams with a waiting job and none running
	unlearned []*Stream // streams with an answered job to learn from, and none running; the oldest first
	closed    bool
	workers   sync.WaitGroup
	busy      []busy               // each worker's running job
	returning map[*Owner][]*Stream // streams of an owner whose snapshots are read back, the first of them now
}

type busy struct {
	job   *Job // nil: none
	since time.Time
}

// A stream that has something left to learn keeps a copy of its last episode: no more than unlearnedMost
// streams wait, of no more than unlearnedBytes each.
const (
	unlearnedMost  = 32
	unlearnedBytes = 1 << 20
)

// NewPool starts so many workers.
func NewPool(workers int) *Pool {
	p := &Pool{busy: make([]busy, workers), returning: map[*Owner][]*Stream{}}
	p.wake.L = &p.mutex
	for i := range workers {
		p.workers.Add(1)
		go p.work(i, new(stream.Engine))
	}
	return p
}

func (p *Pool) submit(j *Job) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	s := j.Stream
	s.jobs = append(s.jobs, j)
	if !s.running && len(s.jobs) == 1 {
		p.ready = append(p.ready, s)
		p.wake.Signal()
	}
}

func (p *Pool) work(worker int, engine *stream.Engine) {
	defer p.workers.Done()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for !p.closed {
		switch {
		case len(p.ready) > 0:
			s := p.ready[0]
			p.ready[0] = nil
			p.ready = p.ready[1:]
			j := s.jobs[0]
			s.jobs[0] = nil
			s.jobs = s.jobs[1:]
			p.do(worker, engine, s, j)
		case len(p.unlearned) > 0:
			p.do(worker, engine, p.unlearned[0], nil)
		default:
			p.wake.Wait()
		}
	}
}

// do learns what a stream has left to learn, then runs its job j; nil: none. The lock is held except
// meanwhile.
func (p *Pool) do(worker int, engine *stream.Engine, s *Stream, j *Job) {
	before := s.unlearned
	if before != nil {
		s.unlearned = nil
		at := slices.Index(p.unlearned, s)
		p.unlearned = slices.Delete(p.unlearned, at, at+1)
	}
	s.running = true
	p.busy[worker] = busy{cmp.Or(j, before), time.Now()}
	p.mutex.Unlock()

	s.learn(before)
	returns := false
	if j != nil {
		s.Lock()
		switch {
		case j.owner.Context.Err() != nil:
		case s.kept != nil:
			returns = true
		default:
			j.attempt(j.owner.Context, engine)
		}
		s.Unlock()
		if !returns {
			j.owner.done.put(j)
		}
	}
	// A busy worker would keep its core for ten milliseconds, while fetches, writes and acknowledgements need
	// one several times for each commit.
	runtime.Gosched()

	p.mutex.Lock()
	if returns {
		s.jobs = slices.Insert(s.jobs, 0, j)
		p.busy[worker] = busy{}
		p.fetch(j.owner, s)
		return
	}
	if j != nil && j.episodeBytes() <= unlearnedBytes && len(p.ready) > 0 && len(p.unlearned) < unlearnedMost {
		s.unlearned, p.unlearned = j, append(p.unlearned, s)
	} else {
		p.mutex.Unlock()
		s.learn(j)
		p.mutex.Lock()
	}
	p.busy[worker] = busy{}
	p.next(s)
}

// next makes a stream ready for its next job. The lock is held.
func (p *Pool) next(s *Stream) {
	s.running = false
	if len(s.jobs) > 0 {
		p.ready = append(p.ready, s)
		p.wake.Signal()
	}
}

// fetch reads back the snapshot of a stream that was put away, one stream of an owner after the other and not on a worker, as
// brokers may take however long: then the stream is ready for its next job. The lock is held.
func (p *Pool) fetch(of *Owner, s *Stream) {
	p.returning[of] = append(p.returning[of], s)
	if len(p.returning[of]) > 1 {
		return
	}
	p.workers.Go(func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		for list := p.returning[of]; len(list) > 0; list = p.returning[of] {
			s := list[0]
			p.mutex.Unlock()
			s.Lock()
			_ = s.fetch(of.Context, of) // on an error the partition is released, and its jobs end so
			s.Unlock()
			p.mutex.Lock()
			p.returning[of] = p.returning[of][1:]
			p.next(s)
		}
		delete(p.returning, of)
	})
}

// busyFor says whether at least so many streams for each worker are ready.
func (p *Pool) busyFor(each int) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.ready) > each*len(p.busy)
}

// Hung returns a job that has run for longer than limit; nil: none.
func (p *Pool) Hung(limit time.Duration) (*Job, time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, b := range p.busy {
		if b.job == nil {
			continue
		}
		if runs := time.Since(b.since); runs > limit {
			return b.job, runs
		}
	}
	return nil, 0
}

// Close stops each worker after its running job.
func (p *Pool) Close() {
	p.mutex.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mutex.Unlock()
	p.workers.Wait()
}
