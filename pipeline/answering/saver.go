package answering

import (
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// State may take a share of the results' bytes, plus a small constant rate, so that slow streams
// are saved too.
const (
	stateShare = .08
	stateFloor = 64 << 10 // bytes a second
	stateMost  = 64 << 20
	// unwrittenMost bytes of snapshots may be in memory, so that many streams that are saved in a hurry, or
	// brokers that are slow, do not fill it.
	unwrittenMost = 8 << 20
)

// Saver chooses the next stream to save: the one that has waited longest, within the bytes of state that may
// be written now.
type Saver struct {
	waiting   []unsaved // changed since their snapshot, in the order in which they will be saved
	allowance float64   // bytes of state that may be written now
	unwritten int       // bytes of snapshots that were asked for and are not acknowledged
	at        time.Time // when the allowance last grew by time; zero: never
	spent     effort
	perByte   float64 // seconds to read a byte that the brokers have ready, a moving average; 0: not measured
	typical   int     // bytes of a snapshot, a moving average
}

type unsaved struct {
	stream *Stream
	due    time.Time
	since  effort // the effort spent when the stream first differed from its snapshot
}

// effort is the time spent to read and answer the input so far, which a replay would take again.
type effort struct {
	reading time.Duration // reading and decoding, one batch after the other
	solves  time.Duration // of all workers
}

// unmeasured is the assumed reading speed before the first measurement, in bytes a second.
const unmeasured = 50 << 20

// Read adds the time to read a batch. If the batch had to wait for new records, the measured speed of other
// batches is used, because a new owner would not have to wait for them.
func (s *Saver) Read(b *consumer.Batch) {
	took := b.Read
	switch {
	case took == 0:
		perByte := s.perByte
		if perByte == 0 {
			perByte = 1. / unmeasured
		}
		took = time.Duration(perByte * float64(b.Bytes) * float64(time.Second))
	case b.Bytes > 0:
		measured := took.Seconds() / float64(b.Bytes)
		if s.perByte == 0 {
			s.perByte = measured
		}
		s.perByte += (measured - s.perByte) / 16
	}
	s.spent.reading += took + b.Decoded
}

// Recovery estimates how long a new owner would replay unsaved episodes, if the streams of so many partitions
// share so many workers.
func (s *Saver) Recovery(workers, partitions int) time.Duration {
	if len(s.waiting) == 0 {
		return 0
	}
	since := s.waiting[0].since
	solves := (s.spent.solves - since.solves) * time.Duration(max(partitions, 1)) / time.Duration(max(workers, 1))
	return s.spent.reading - since.reading + solves
}

// Changed queues a stream for its next snapshot, not before due, unless it is queued already.
func (s *Saver) Changed(stream *Stream, due time.Time) { s.queue(stream, due, s.spent) }

// Replayed queues a stream that has replayed episodes not covered by a snapshot. The next owner would have
// to replay from where this one began.
func (s *Saver) Replayed(stream *Stream, now time.Time) { s.queue(stream, now, effort{}) }

func (s *Saver) queue(stream *Stream, due time.Time, since effort) {
	if !stream.unsaved {
		stream.unsaved = true
		s.waiting = append(s.waiting, unsaved{stream, due, since})
	}
}

// Earn lets state be written for so many bytes of results.
func (s *Saver) Earn(results int64) { s.allowance += stateShare * float64(results) }

// Answered queues a stream that was answered for its next snapshot, an interval after the last.
func (s *Saver) Answered(stream *Stream, interval time.Duration) {
	s.Changed(stream, stream.saved.Add(interval))
}

// Spent adds the time that workers took.
func (s *Saver) Spent(solves time.Duration) { s.spent.solves += solves }

// Taken notes a stream's snapshot. Its size replaces the estimate that next subtracted.
func (s *Saver) Taken(stream *Stream, bytes int) {
	stream.saving = false
	s.allowance -= float64(bytes - stream.size)
	s.unwritten += bytes - stream.size
	stream.size = bytes
	s.typical += (bytes - s.typical) / 16
	if s.typical == 0 {
		s.typical = bytes
	}
}

// Failed notes that no snapshot could be taken of a stream.
func (s *Saver) Failed(stream *Stream) {
	stream.saving = false
	s.unwritten -= stream.size
}

// Written notes that so many bytes of snapshots are acknowledged.
func (s *Saver) Written(bytes int) { s.unwritten -= bytes }

// Due returns the streams whose snapshots are to be taken now, within the allowance for state. hurry says whether a new
// owner would have to replay for too long: then the allowance does not count.
func (s *Saver) Due(now time.Time, hurry func() bool) (due []*Stream) {
	s.refill(now)
	const most = 64 // at a time, so that episodes do not wait
	for len(due) < most {
		stream := s.next(now, hurry())
		if stream == nil {
			break
		}
		stream.saving = true
		due = append(due, stream)
	}
	return due
}

// refill lets the allowance grow by time.
func (s *Saver) refill(now time.Time) {
	if s.at.IsZero() {
		s.at = now
	}
	s.allowance = min(s.allowance+stateFloor*now.Sub(s.at).Seconds(), stateMost)
	s.at = now
}

// next removes the stream to save now from the queue; nil if none is due or nothing may be written. It
// subtracts the snapshot's estimated size from the allowance at once, because more snapshots may be
// requested before this one is taken. hurry ignores the allowance: it is set when a new owner would have to
// replay for too long.
func (s *Saver) next(now time.Time, hurry bool) *Stream {
	s.skip()
	if len(s.waiting) == 0 || s.allowance <= 0 && !hurry || s.waiting[0].due.After(now) ||
		s.unwritten >= unwrittenMost {
		return nil
	}
	stream := s.Take(now)
	if stream.size == 0 {
		stream.size = s.typical
	}
	s.allowance = max(s.allowance-float64(stream.size), -stateMost)
	s.unwritten += stream.size
	return stream
}

// Take removes the first stream from the queue, due or not; nil if there is none.
func (s *Saver) Take(now time.Time) *Stream {
	s.skip()
	if len(s.waiting) == 0 {
		return nil
	}
	first := s.waiting[0].stream
	s.waiting[0].stream = nil
	s.waiting = s.waiting[1:]
	first.unsaved, first.saved = false, now
	return first
}

// skip drops evicted streams from the front of the queue.
func (s *Saver) skip() {
	for len(s.waiting) > 0 && s.waiting[0].stream.gone {
		s.waiting[0].stream = nil
		s.waiting = s.waiting[1:]
	}
}
