package answering

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// Stream is one stream's queue. Any free worker does its jobs, one after the other; memory and labels
// belong to the running job, which holds the lock. The partition gets a job's answers before the
// memory has learned from them.
type Stream struct {
	extension.Stream
	learned     record.Position // the last item of the last episode
	labels      []int64         // the labels in force at its last answer
	learning    time.Duration   // time to learn from the last episode, after its answers
	learnedTime time.Time       // event time of the partition at the last item of the last episode

	used time.Time // when it was last answered, or came back

	// Without a memory, that is made once it is wanted, from asleep, or from kept, which is read first. The other is nil. They
	// belong to who holds the lock.
	asleep     *state.Snapshot
	kept       *state.Saved // in the state topic
	unreadable atomic.Bool  // its memory could not be made from the snapshot, which the partition's owner must leave alone

	counting           sync.Mutex   // who changes one of these
	bytes, metricBytes atomic.Int64 // approximate size of its memory, and of the metric in it
	counted            *Known       // whose sums have them; nil: none

	// Of the pool, under its lock.
	jobs      []*Job
	running   bool
	unlearned *Job // answered, but not learned from; nil: none

	// Of the partition's owner.
	pending  int   // jobs given to the workers and not taken back
	episodes int64 // that it has answered
	taught   bool  // its own items have taught it

	// Of the saver, whose is the partition's owner's.
	unsaved bool // has learned something that no snapshot holds or will hold
	saving  bool // a snapshot is being taken
	gone    bool // evicted
	saved   time.Time
	size    int // bytes of its last snapshot, or an estimate; 0: not known
}

// passed says that an episode is over for the stream: answered, or given up.
func (s *Stream) passed(e *consumer.Episode) {
	s.learned = e.Last()
	if !e.Reached.IsZero() {
		s.learnedTime = e.Reached
	}
}

// learn lets the memory, and the extensions that look into it, learn from an answered job; nil: there is none. After a panic the
// answers stand.
func (s *Stream) learn(j *Job) {
	if j == nil {
		return
	}
	s.Lock()
	if s.Memory != nil { // else the job did not want it, or it was put away since
		begin := time.Now()
		extension.Guard(j.owner.Log, "an episode could not be learned from in full", s.Key.Name, s.Memory.Learn)
		s.measure(s.Memory)
		s.learning = time.Since(begin)
		for _, w := range j.owner.Learners {
			if j.answers != nil {
				extension.Guard(j.owner.Log, "an extension could not follow", s.Key.Name, func() { w.Learned(&s.Stream, j.Answered()) })
			}
		}
	}
	s.Unlock()
	for _, w := range j.owner.Learners {
		w.Free(&s.Stream)
	}
}

// Snapshot encodes the stream's memory; nil: it was put away. The caller holds its lock.
func (s *Stream) Snapshot() *state.Snapshot {
	out := &state.Snapshot{Stream: s.Key, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime}
	switch {
	case s.asleep != nil:
		out.Pieces = s.asleep.Pieces
	case s.Memory != nil:
		out.Pieces = s.Memory.State()
	default:
		return nil
	}
	return out
}

// measure stores the size of the stream's memory, which this is or will be. The caller holds its lock.
func (s *Stream) measure(memory *stream.Stream) {
	rest, ofMetric := memory.Bytes()
	s.holds(int64(rest+ofMetric), int64(ofMetric))
}

// holds sets the size of the stream's memory.
func (s *Stream) holds(bytes, ofMetric int64) {
	s.counting.Lock()
	defer s.counting.Unlock()
	was, before := s.bytes.Swap(bytes), s.metricBytes.Swap(ofMetric)
	if s.counted != nil {
		s.counted.add(bytes-was, ofMetric-before)
	}
}

// count has the size of the stream's memory in the sums of these known streams, and no others.
func (s *Stream) count(in *Known) {
	s.counting.Lock()
	defer s.counting.Unlock()
	if s.counted != nil {
		s.counted.add(-s.bytes.Load(), -s.metricBytes.Load())
	}
	if in != nil {
		in.add(s.bytes.Load(), s.metricBytes.Load())
	}
	s.counted = in
}
