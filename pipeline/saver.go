package pipeline

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

// saver chooses the next stream to save: the one that has waited longest, within the bytes of state that may
// be written now.
type saver struct {
	waiting   []unsaved // changed since their snapshot, in the order in which they will be saved
	allowance float64   // bytes of state that may be written now
	unwritten int       // bytes of snapshots that were asked for and are not acknowledged
	at        time.Time // when the allowance last grew by time; zero: never
	spent     effort
	perByte   float64 // seconds to read a byte that the brokers have ready, a moving average; 0: not measured
	typical   int     // bytes of a snapshot, a moving average
}

type unsaved struct {
	stream *liveStream
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

// read adds the time to read a batch. If the batch had to wait for new records, the measured speed of other
// batches is used, because a new owner would not have to wait for them.
func (s *saver) read(b *consumer.Batch) {
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

// recovery estimates how long a new owner would replay unsaved episodes, if the streams of so many partitions
// share so many workers.
func (s *saver) recovery(workers, partitions int) time.Duration {
	if len(s.waiting) == 0 {
		return 0
	}
	since := s.waiting[0].since
	solves := (s.spent.solves - since.solves) * time.Duration(max(partitions, 1)) / time.Duration(max(workers, 1))
	return s.spent.reading - since.reading + solves
}

// changed queues a stream for its next snapshot, not before due, unless it is queued already.
func (s *saver) changed(stream *liveStream, due time.Time) { s.queue(stream, due, s.spent) }

// relearned queues a stream that has replayed episodes not covered by a snapshot. The next owner would have
// to replay from where this one began.
func (s *saver) relearned(stream *liveStream, now time.Time) { s.queue(stream, now, effort{}) }

func (s *saver) queue(stream *liveStream, due time.Time, since effort) {
	if !stream.unsaved {
		stream.unsaved = true
		s.waiting = append(s.waiting, unsaved{stream, due, since})
	}
}

// earn lets state be written for so many bytes of results.
func (s *saver) earn(results int64) { s.allowance += stateShare * float64(results) }

// settle replaces the estimate that next subtracted for a stream's snapshot by its true size.
func (s *saver) settle(stream *liveStream, bytes int) {
	s.allowance -= float64(bytes - stream.size)
	s.unwritten += bytes - stream.size
	stream.size = bytes
	s.typical += (bytes - s.typical) / 16
	if s.typical == 0 {
		s.typical = bytes
	}
}

// refill lets the allowance grow by time.
func (s *saver) refill(now time.Time) {
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
func (s *saver) next(now time.Time, hurry bool) *liveStream {
	s.skip()
	if len(s.waiting) == 0 || s.allowance <= 0 && !hurry || s.waiting[0].due.After(now) ||
		s.unwritten >= unwrittenMost {
		return nil
	}
	stream := s.take(now)
	if stream.size == 0 {
		stream.size = s.typical
	}
	s.allowance = max(s.allowance-float64(stream.size), -stateMost)
	s.unwritten += stream.size
	return stream
}

// take removes the first stream from the queue, due or not; nil if there is none.
func (s *saver) take(now time.Time) *liveStream {
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
func (s *saver) skip() {
	for len(s.waiting) > 0 && s.waiting[0].stream.gone {
		s.waiting[0].stream = nil
		s.waiting = s.waiting[1:]
	}
}
