package first

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/now"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

const (
	mostHeld   = 128 << 20        // bytes that the streams of a process hold for first answers
	quietAfter = 10 * time.Second // a stream that is asked nothing for so long gives its up for others
)

// Settings say what first answers work with.
type Settings struct {
	Client  *topic.Client
	Topic   string        // "": no first answers are written, but streams can be asked
	Results string        // the topic of results: the other gets as many partitions
	Within  time.Duration // from reading an item: later ones are left out
	Labels  *labels.Topic
	Most    int64 // bytes that the process may use; 0: no bound
	Log     *slog.Logger
	// Tell gets first answers when they are acknowledged, from several goroutines, in order within a stream. It must
	// not keep the stage waiting, nor keep the list; nil: not called.
	Tell    func([]Answer)
	Counted telemetry.Counter   // items, by Counts
	Took    telemetry.Histogram // seconds from reading an item to the acknowledgement of its first answer
}

// Process is what first answers know of the streams of a process.
type Process struct {
	settings Settings
	memory   memory
	warned   telemetry.Warnings
	streams  sync.Map // *known by *extension.Stream: those that were asked
}

// New returns the first answers of a process.
func New(s Settings) *Process {
	p := &Process{settings: s}
	if p.memory.most = mostHeld; s.Most > 0 {
		p.memory.most = int(min(mostHeld, s.Most/8))
	}
	return p
}

// Bytes is what the streams hold for first answers.
func (p *Process) Bytes() int64 {
	p.memory.mutex.Lock()
	defer p.memory.mutex.Unlock()
	return int64(p.memory.bytes)
}

// known is what first answers know of a stream.
type known struct {
	of *extension.Stream

	mutex sync.Mutex
	now   now.Now
	knows *view.View // nil: to be asked for
	full  time.Time  // when there was no room for it

	asked atomic.Int64 // when an answer was last wanted, as telemetry.Uptime; 0: never

	settled record.Position // items up to it are settled; under the mutex of Partition
	turn    []waiting       // whose turn it is; of the goroutine that answers
}

// find returns what is known of a stream; nil: it was not asked yet.
func (p *Process) find(s *extension.Stream) *known {
	if found, is := p.streams.Load(s); is {
		return found.(*known)
	}
	return nil
}

// known is find, and begins what is not there.
func (p *Process) known(s *extension.Stream) *known {
	if found := p.find(s); found != nil {
		return found
	}
	found, _ := p.streams.LoadOrStore(s, &known{of: s, settled: record.NoPosition})
	return found.(*known)
}

// ask notes that an answer is wanted. It says whether the stream is known, and if not, whether there was no
// room for it lately.
func (s *known) ask() (known, full bool) {
	s.asked.Store(int64(telemetry.Uptime()))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.knows != nil, time.Since(s.full) < quietAfter
}

// quiet says that no answer was wanted lately.
func (s *known) quiet() bool {
	asked := time.Duration(s.asked.Load())
	return asked == 0 || telemetry.Uptime()-asked > quietAfter
}

// learn gives a stream's first answers what the stream knows now; items and answers are those of the episode
// that has just been answered. The caller holds the stream. Meanwhile answers are given by what was known.
func (p *Process) learn(first *known, like *stream.Item, items []stream.Item, answers []stream.Answer) error {
	if err := p.bring(first.of); err != nil {
		return err
	}
	first.mutex.Lock()
	before := first.knows
	first.mutex.Unlock()
	k, err := first.of.Memory.View(like, p.settings.Labels.Current().Labels, before)
	if err != nil {
		return err
	}
	first.mutex.Lock()
	defer first.mutex.Unlock()
	first.now.Follow(k, items, answers)
	first.knows = k
	if !p.memory.admit(first, first.now.Bytes()) {
		first.drop()
		first.full = time.Now()
	}
	return nil
}

// aWhile ends when a broker has taken half as long for a request as a first answer is of use: a commit may wait for it.
func (p *Process) aWhile() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), p.settings.Within/2)
}

// bring brings a stream's memory back if it was put away. The caller holds the stream.
func (p *Process) bring(s *extension.Stream) error {
	ctx, cancel := p.aWhile()
	defer cancel()
	return s.Return(ctx)
}

// drop forgets what a stream's first answers know.
func (s *known) drop() { s.now, s.knows = now.Now{}, nil }

// Release forgets a stream.
func (p *Process) Release(s *extension.Stream) {
	if first, is := p.streams.LoadAndDelete(s); is {
		p.release(first.(*known))
	}
}

// release gives the memory of a stream's first answers back.
func (p *Process) release(first *known) {
	p.memory.forget(first)
	first.mutex.Lock()
	first.drop()
	first.mutex.Unlock()
}

// learned passes an answered episode to a stream's first answers. The caller holds the stream.
func (p *Process) learned(s *extension.Stream, e *extension.Answered, log *slog.Logger) {
	first := p.find(s)
	if first == nil || len(e.Answers) == 0 {
		return
	}
	if first.quiet() { // made when the next item asks for it
		p.release(first)
		return
	}
	items := make([]stream.Item, len(e.Answers))
	for i := range items {
		items[i] = extension.ItemOf(&e.Episode.Items[i], e.Keys[i])
	}
	if err := p.learn(first, &items[0], items, e.Answers); err != nil {
		log.Error("first answers could not follow", "stream", s.Key.Name, "error", err)
	}
}

// memory bounds what the streams of a process hold for first answers.
type memory struct {
	mutex       sync.Mutex
	held        map[*known]int // bytes
	bytes, most int
}

// admit counts so many bytes for a stream, whose owner has it, and says whether there is room for them.
// Streams that are quiet make room.
func (m *memory) admit(s *known, bytes int) bool {
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
func (m *memory) hold(s *known, bytes int) {
	if m.held == nil {
		m.held = map[*known]int{}
	}
	m.bytes += bytes - m.held[s]
	if m.held[s] = bytes; bytes == 0 {
		delete(m.held, s)
	}
}

// forget gives back what a stream holds.
func (m *memory) forget(s *known) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.hold(s, 0)
}
