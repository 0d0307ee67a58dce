package answering

import (
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// The saver saves streams in order, once each, when they are due and the allowance permits.
func TestSaver(t *testing.T) {
	now := time.Now()
	s := &Saver{}
	s.refill(now)
	a, b := &Stream{}, &Stream{}
	s.Changed(a, now)
	s.Changed(a, now)
	s.Changed(b, now.Add(time.Second))
	if s.next(now, false) != nil {
		t.Error("saved without an allowance")
	}
	s.Earn(1 << 20)
	if s.next(now, false) != a || s.next(now, false) != nil {
		t.Error("not a alone")
	}
	s.Taken(a, 1<<20)
	if later := now.Add(time.Second); s.next(later, false) != nil || s.Take(later) != b || s.Take(later) != nil {
		t.Error("not b, when it must be")
	}
}

// However many streams wait, the snapshots requested before the first is taken stay within the allowance.
func TestSaverKeepsToItsAllowance(t *testing.T) {
	now := time.Now()
	s := &Saver{}
	s.refill(now)
	for range 1000 {
		s.Changed(&Stream{size: 10_000}, now)
	}
	s.Earn(100_000 / stateShare)
	asked := 0
	for s.next(now, false) != nil {
		asked++
	}
	if asked != 10 {
		t.Errorf("%d snapshots of 10,000 bytes asked for where 100,000 may be written", asked)
	}
}

// However many streams are saved in a hurry, few snapshots are in memory until the first are acknowledged.
func TestSaverWaitsForTheBrokers(t *testing.T) {
	now := time.Now()
	s := &Saver{}
	const size = 1 << 20
	for range 100 {
		s.Changed(&Stream{size: size}, now)
	}
	count := func() (n int) {
		for s.next(now, true) != nil {
			n++
		}
		return n
	}
	if n := count(); n != unwrittenMost/size {
		t.Errorf("%d MiB asked for at once", n)
	}
	s.Written(2 * size)
	if n := count(); n != 2 {
		t.Errorf("%d asked for when two were acknowledged", n)
	}
}

// Episodes that a new owner had to replay must be replayed by the next one too, until they are saved.
func TestSaverCountsWhatWasLearnedAgain(t *testing.T) {
	now := time.Now()
	s := &Saver{}
	s.Read(&consumer.Batch{Read: 3 * time.Second})
	s.Replayed(&Stream{}, now)
	s.Spent(4 * time.Second)
	if got := s.Recovery(2, 1); got != 5*time.Second {
		t.Errorf("recovery of %v", got)
	}
}

// If a new owner would replay for too long, streams are saved regardless of the allowance.
func TestSaverHoldsTheRecoveryTarget(t *testing.T) {
	now := time.Now()
	s := &Saver{}
	s.Changed(&Stream{}, now)
	s.Read(&consumer.Batch{Bytes: 10 * unmeasured, Decoded: 2 * time.Second}) // waited: at the assumed speed
	s.Spent(8 * time.Second)
	if got := s.Recovery(4, 1); got != 14*time.Second {
		t.Errorf("recovery of %v", got)
	}
	if got := s.Recovery(4, 6); got != 24*time.Second {
		t.Errorf("recovery of %v where six partitions share the workers", got)
	}
	s.Read(&consumer.Batch{Bytes: 1 << 20, Read: time.Second}) // did not have to wait
	s.Read(&consumer.Batch{Bytes: 3 << 20})                    // at the measured speed
	if got := s.Recovery(4, 1); got.Round(time.Millisecond) != 18*time.Second {
		t.Errorf("recovery of %v at a megabyte a second", got)
	}
	s.Changed(&Stream{}, now)
	if s.next(now, false) != nil || s.next(now, true) == nil {
		t.Error("the target does not go before the allowance")
	}
	if got := s.Recovery(4, 1); got != 0 {
		t.Errorf("recovery of %v, with the first saved", got)
	}
}
