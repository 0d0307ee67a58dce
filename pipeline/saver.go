package pipeline

import (
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// State may take a tenth of what results take, and a little always, so that slow streams are saved too.
const (
	stateShare = .08
	stateFloor = 64 << 10 // bytes a second
	stateMost  = 64 << 20
)

// saver says which stream is to be saved next: the one that has waited longest, as far as state may be
// written now.
type saver struct {
	waiting   []unsaved // streams that have learned what no snapshot holds, in the order in which they are to be saved
	allowance float64   // bytes of state that may be written now
	at        time.Time // when the allowance last grew by time; zero: never
	spent     effort
	perByte   float64 // seconds in which the brokers hand over a byte, as was measured of late; 0: it was not
	typical   int     // bytes of a snapshot, of those taken of late
}

type unsaved struct {
	stream *liveStream
	due    time.Time
	since  effort // that had been spent on the input when the stream began to differ from its snapshot
}

// effort is what it took to read and answer the input so far, and would take again.
type effort struct {
	reading time.Duration // and decoding, one batch after the other
	solves  time.Duration // of all workers
}

// unmeasured is the speed of reading before any was measured, bytes a second.
const unmeasured = 50 << 20

// read notes what it took to read a batch. Where records were waited for, a new owner, for whom they are
// there, reads them as fast as others were read that were there.
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

// recovery is how long a new owner would be busy with what is not saved, where so many workers are shared by
// the streams of so many partitions.
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

// relearned queues a stream that has learned again what no snapshot holds, for its next snapshot. The next
// owner would have to read and learn from where this one has begun.
func (s *saver) relearned(stream *liveStream, now time.Time) { s.queue(stream, now, effort{}) }

func (s *saver) queue(stream *liveStream, due time.Time, since effort) {
	if !stream.unsaved {
		stream.unsaved = true
		s.waiting = append(s.waiting, unsaved{stream, due, since})
	}
}

// earn lets state be written for so many bytes of results.
func (s *saver) earn(results int64) { s.allowance += stateShare * float64(results) }

// settle corrects what next took off for a stream's snapshot to its true bytes.
func (s *saver) settle(stream *liveStream, bytes int) {
	s.allowance -= float64(bytes - stream.size)
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

// next takes the stream from the queue that is to be saved now; nil if none is due or nothing may be written.
// What its snapshot will take, as far as is known, is taken off what may be written at once: a snapshot takes
// its time, and many could be asked for meanwhile. hurry is when a new owner would be busy for too long: then
// what may be written does not count.
func (s *saver) next(now time.Time, hurry bool) *liveStream {
	s.skip()
	if len(s.waiting) == 0 || s.allowance <= 0 && !hurry || s.waiting[0].due.After(now) {
		return nil
	}
	stream := s.take(now)
	if stream.size == 0 {
		stream.size = s.typical
	}
	s.allowance = max(s.allowance-float64(stream.size), -stateMost)
	return stream
}

// take takes the first stream from the queue, due or not; nil if there is none.
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

// skip takes streams off the front of the queue that were given up.
func (s *saver) skip() {
	for len(s.waiting) > 0 && s.waiting[0].stream.gone {
		s.waiting[0].stream = nil
		s.waiting = s.waiting[1:]
	}
}
