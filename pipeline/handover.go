package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
)

// handOverSpeed is the assumed speed of writing state in a hand-over, in bytes a second.
const handOverSpeed = 16 << 20

// gone says whether the error that ended reading means that the records are no longer in the input.
func gone(cause error) bool {
	var outOfRange *topic.OutOfRange
	return errors.Is(cause, errAnew) || errors.As(cause, &outOfRange) || topic.IsMissing(cause)
}

// handOver ends the ownership: it answers closed episodes and commits. Open episodes are left to the
// next owner, unless they must be answered now because DrainOpen is set or the input may no longer
// hold their items.
func (p *partition) handOver(cause error) error {
	o := &p.stage.options
	limit := o.DrainTimeout
	if errors.Is(cause, consumer.ErrRevoked) {
		limit = o.HandOver
	} else if (o.DrainOpen || gone(cause)) && p.intake.caughtUp() {
		p.submit(p.intake.Drain())
	}
	begin := time.Now()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	half := time.NewTimer(limit / 2) // nothing else may happen meanwhile
	defer half.Stop()
	saved := false
	for {
		if p.answering.jobs == 0 && p.ledger.commits.sending == nil {
			if !saved && p.intake.caughtUp() {
				saved = true
				p.saveAll(begin, limit)
			}
			if !p.commit(true) {
				p.handed = true
				return nil
			}
		} else if time.Since(begin) < limit/2 {
			p.commit(false)
		} else {
			p.commit(true) // the next owner answers the rest
		}
		select {
		case <-deadline.C:
			return fmt.Errorf(
				"%s: handing over took longer than %v: what was not acknowledged will be answered again by the next owner",
				p.TopicPartition,
				limit,
			)
		case <-half.C:
		case jobs := <-p.answering.Done():
			p.collect(jobs)
		case err := <-p.ledger.commits.result:
			if err := p.acknowledge(err); err != nil {
				return err
			}
		}
	}
}

// saveAll takes snapshots of as many changed streams as there is time for. The journal covers the rest.
func (p *partition) saveAll(begin time.Time, limit time.Duration) {
	room := int(handOverSpeed * (limit - time.Since(begin)).Seconds() / 2)
	for room > 0 && time.Since(begin) < limit/2 {
		s := p.ledger.saver.take(time.Now())
		if s == nil {
			return
		}
		s.Lock() // it may still be learning from its last job
		snapshot := s.snapshot()
		s.Unlock()
		room -= snapshot.Bytes()
		p.ledger.commits.next.snapshots = append(p.ledger.commits.next.snapshots, snapshot)
		p.stage.metrics.snapshots.Observe(float64(snapshot.Bytes()))
	}
}
