package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// handOverSpeed is how many bytes of state a second a hand-over counts on writing.
const handOverSpeed = 16 << 20

// handOver ends the ownership: it answers what is closed, commits, and leaves open episodes to the next owner unless they
// are to be answered now: an input that was made again holds their items no more.
func (p *partition) handOver(cause error) error {
	o := &p.stage.options
	limit := o.DrainTimeout
	if errors.Is(cause, consumer.ErrRevoked) {
		limit = o.HandOver
	} else if (o.DrainOpen || errors.Is(cause, errAnew)) && p.caughtUp() {
		p.buffer.Drain(p.position)
	}
	begin := time.Now()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	saved := false
	for {
		if p.jobs == 0 && p.commits.sending == nil {
			if !saved && p.caughtUp() {
				saved = true
				p.saveAll(begin, limit)
			}
			if !p.commit(true) {
				return nil
			}
		} else if time.Since(begin) < limit/2 {
			p.commit(false)
		} else {
			p.commit(true) // what is not answered by now is left to the next owner
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("%s/%d: handing over took longer than %v: what was not acknowledged will be answered again by the next owner", p.topic, p.number, limit)
		case <-p.inbox.wake:
			p.collect()
		case err := <-p.commits.result:
			if err := p.acknowledge(err); err != nil {
				return err
			}
		}
	}
}

// saveAll takes snapshots of all streams that have learned something, as many as there is time for: the journal holds
// the rest.
func (p *partition) saveAll(begin time.Time, limit time.Duration) {
	room := int(handOverSpeed * (limit - time.Since(begin)).Seconds() / 2)
	for room > 0 && time.Since(begin) < limit/2 {
		s := p.saver.take(time.Now())
		if s == nil {
			return
		}
		s.working.Lock() // the last of its jobs may still be learned from
		snapshot := s.snapshot()
		s.working.Unlock()
		room -= snapshot.Bytes()
		p.commits.next.snapshots = append(p.commits.next.snapshots, snapshot)
		p.stage.metrics.saved(snapshot.Bytes())
	}
}
