package pipeline

import (
	"sync"
	"time"
)

// firstMemory bounds what the streams of a process hold for first answers.
type firstMemory struct {
	mutex   sync.Mutex
	holding map[*firstStream]holding
	bytes   int
	most    int
}

// holding is what one stream holds.
type holding struct {
	bytes int
	asked time.Time
}

// admit counts so many bytes for a stream, whose owner has it, and says whether there is room for them. Streams that are quiet
// make room.
func (m *firstMemory) admit(s *firstStream, bytes int) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.holding == nil {
		m.holding = map[*firstStream]holding{}
	}
	m.bytes -= m.holding[s].bytes
	delete(m.holding, s)
	for m.bytes+bytes > m.most {
		var quiet *firstStream
		for other, x := range m.holding {
			if time.Since(x.asked) > nowQuiet && (quiet == nil || x.asked.Before(m.holding[quiet].asked)) {
				quiet = other
			}
		}
		if quiet == nil || !quiet.mutex.TryLock() {
			return false
		}
		quiet.drop()
		quiet.mutex.Unlock()
		m.bytes -= m.holding[quiet].bytes
		delete(m.holding, quiet)
	}
	m.holding[s] = holding{bytes, s.asked}
	m.bytes += bytes
	return true
}

// forget gives back what a stream holds.
func (m *firstMemory) forget(s *firstStream) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.bytes -= m.holding[s].bytes
	delete(m.holding, s)
}
