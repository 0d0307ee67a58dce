package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

const (
	nowMemory = 128 << 20        // bytes that the streams of a process hold for first answers
	nowQuiet  = 10 * time.Second // a stream that is asked nothing for so long gives its up for others
)

// firstStream is what first answers know of a stream.
type firstStream struct {
	live *liveStream

	mutex sync.Mutex
	now   stream.Now
	knows *stream.Knowledge // nil: to be asked for
	full  time.Time         // when there was no room for it

	asked atomic.Int64 // when an answer was last wanted, in nanoseconds of Unix time

	settled record.Position // items up to it are settled; under the mutex of firstAnswers
	turn    []firstItem     // whose turn it is; of the goroutine that answers
}

// known is what first answers know of a stream; nil if it was given up just now.
func (s *liveStream) known() *firstStream {
	if first := s.first.Load(); first != nil {
		return first
	}
	s.first.CompareAndSwap(nil, &firstStream{live: s, settled: record.NoPosition})
	return s.first.Load()
}

// ask notes that an answer is wanted. It says whether the stream is known, and if not, whether there was no
// room for it lately.
func (s *firstStream) ask() (known, full bool) {
	s.asked.Store(time.Now().UnixNano())
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.knows != nil, time.Since(s.full) < nowQuiet
}

// quiet says that no answer was wanted lately.
func (s *firstStream) quiet() bool { return time.Since(time.Unix(0, s.asked.Load())) > nowQuiet }

// learn gives a stream's first answers what the stream knows now; items and answers are those of the episode
// that has just been answered. The caller holds the stream. Meanwhile answers are given by what was known.
func (s *Stage) learn(
	first *firstStream, like *stream.Item, items []stream.Item, answers []stream.Answer,
) error {
	first.mutex.Lock()
	before := first.knows
	first.mutex.Unlock()
	k, err := first.live.memory.Knowledge(like, s.labels.Current().Labels, before)
	if err != nil {
		return err
	}
	first.mutex.Lock()
	defer first.mutex.Unlock()
	first.now.Follow(k, items, answers)
	first.knows = k
	if !s.firsts.admit(first, first.now.Bytes()) {
		first.drop()
		first.full = time.Now()
	}
	return nil
}

// drop forgets what a stream's first answers know.
func (s *firstStream) drop() { s.now, s.knows = stream.Now{}, nil }

// release gives the memory of a stream's first answers back.
func (s *Stage) release(first *firstStream) {
	s.firsts.forget(first)
	first.mutex.Lock()
	first.drop()
	first.mutex.Unlock()
}

// follow passes an answered episode to a stream's first answers. The worker that answered it holds the
// stream.
func (j *job) follow() {
	s, items := j.stream, j.items
	j.items = nil
	first, stage := s.first.Load(), j.of.stage
	if first == nil || len(items) == 0 || len(j.answers) == 0 {
		return
	}
	if first.quiet() { // made when the next item asks for it
		stage.release(first)
		return
	}
	if err := stage.learn(first, &items[0], items, j.answers); err != nil {
		j.of.log.Error("first answers could not follow", "stream", s.key.Name, "error", err)
	}
}

// firstMemory bounds what the streams of a process hold for first answers.
type firstMemory struct {
	mutex       sync.Mutex
	held        map[*firstStream]int // bytes
	bytes, most int
}

// admit counts so many bytes for a stream, whose owner has it, and says whether there is room for them.
// Streams that are quiet make room.
func (m *firstMemory) admit(s *firstStream, bytes int) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.hold(s, 0)
	for m.bytes+bytes > m.most {
		oldest := s
		for other := range m.held {
			if other.asked.Load() < oldest.asked.Load() {
				oldest = other
			}
		}
		if oldest == s || !oldest.quiet() || !oldest.mutex.TryLock() {
			return false
		}
		oldest.drop()
		oldest.mutex.Unlock()
		m.hold(oldest, 0)
	}
	m.hold(s, bytes)
	return true
}

// hold sets what a stream holds. The caller has the lock.
func (m *firstMemory) hold(s *firstStream, bytes int) {
	if m.held == nil {
		m.held = map[*firstStream]int{}
	}
	m.bytes += bytes - m.held[s]
	if m.held[s] = bytes; bytes == 0 {
		delete(m.held, s)
	}
}

// forget gives back what a stream holds.
func (m *firstMemory) forget(s *firstStream) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.hold(s, 0)
}
