package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/state"
)

// State may take a tenth of what results take, and a little always, so that slow streams are saved too.
const (
	stateShare    = .08
	stateFloor    = 64 << 10 // bytes a second
	stateMost     = 64 << 20
	handOverSpeed = 16 << 20 // bytes of state a second that a hand-over counts on
)

// save asks for snapshots of the streams whose time has come, as far as state may be written now.
func (p *partition) save(now time.Time) {
	if p.allowedAt.IsZero() {
		p.allowedAt = now
	}
	p.allowance = min(p.allowance+stateFloor*now.Sub(p.allowedAt).Seconds(), stateMost)
	p.allowedAt = now
	asked := 0
	for len(p.unsaved) > 0 && p.allowance > 0 && asked < 64 && p.settled() {
		first := p.unsaved[0]
		if first.due.After(now) {
			return
		}
		p.unsaved = p.unsaved[1:]
		s := first.stream
		s.dirty, s.saving, s.saved = false, true, now
		p.submit(&job{stream: s})
		asked++
	}
}

// retire gives up streams that have been silent for longer than the state is kept, by event time, so that it is a function
// of the input. What the next owner may read again still needs its stream's place.
func (p *partition) retire(now time.Time) {
	ttl := p.stage.options.StateTTL
	if ttl == 0 || now.Sub(p.retiredAt) < min(10*time.Second, ttl) || !p.settled() || p.replay.left > 0 {
		return
	}
	p.retiredAt = now
	from, _, _ := p.from()
	for key, s := range p.streams {
		if s.dirty || s.saving || s.pending > 0 || p.busy || p.buffer.High().Sub(s.alive) < ttl || !from.After(s.learned) {
			continue
		}
		if !p.keeper.Forget(state.Stream{Name: key.Stream, Model: key.Model}) {
			continue
		}
		delete(p.streams, key)
		p.retired = true
		p.log.Info("stream retired: silent for longer than state-ttl", "stream", key.Stream, "model", key.Model, "last", s.alive)
	}
}

// handOver ends the ownership: it answers what is closed, commits, and leaves open episodes to the next owner unless they
// are to be answered now.
func (p *partition) handOver(cause error) error {
	o := &p.stage.options
	limit := o.DrainTimeout
	if errors.Is(cause, consumer.ErrRevoked) {
		limit = o.HandOver
	} else if o.DrainOpen && p.settled() {
		p.buffer.Drain(p.position)
	}
	begin := time.Now()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	saved := false
	for {
		if p.outstanding == 0 && !p.busy {
			if !saved && p.settled() {
				saved = true
				p.saveAll(begin, limit)
			}
			if !p.hand(true) {
				return nil
			}
		} else if time.Since(begin) < limit/2 {
			p.hand(false)
		} else {
			p.hand(true) // what is not answered by now is left to the next owner
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("%s/%d: handing over took longer than %v: what was not acknowledged will be answered again by the next owner", p.topic, p.number, limit)
		case <-p.wake:
			p.settleAll()
		case err := <-p.result:
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
	for len(p.unsaved) > 0 && room > 0 && time.Since(begin) < limit/2 {
		s := p.unsaved[0].stream
		p.unsaved = p.unsaved[1:]
		s.dirty, s.saved = false, time.Now()
		snapshot := s.snapshot()
		room -= snapshot.Bytes()
		p.snapshots = append(p.snapshots, snapshot)
		p.stage.metrics.saved(snapshot.Bytes())
	}
}
