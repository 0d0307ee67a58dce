package telemetry

import (
	"io"
	"sync"
	"time"
)

// mostWaiting bounds the bytes of lines that wait for their reader.
const mostWaiting = 1 << 20

// Lines passes lines on to a writer from a goroutine of its own, so that nobody waits for a reader that is slow
// or does not read: a log pipe that is full. Beyond a bound lines are dropped, which told says.
type Lines struct {
	to   io.Writer
	told func(to io.Writer, dropped int)

	mutex   sync.Mutex
	changed *sync.Cond
	waiting [][]byte
	bytes   int
	dropped int
	passed  int // lines written so far
	closed  bool
	done    chan struct{}
}

// NewLines starts passing lines on. told writes how many were dropped before the next one.
func NewLines(to io.Writer, told func(to io.Writer, dropped int)) *Lines {
	l := &Lines{to: to, told: told, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mutex)
	go l.pass()
	return l
}

// Write takes a line. It does not wait and does not fail.
func (l *Lines) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.bytes+len(line) > mostWaiting {
		l.dropped++
		return len(line), nil
	}
	l.waiting, l.bytes = append(l.waiting, append([]byte(nil), line...)), l.bytes+len(line)
	l.changed.Signal()
	return len(line), nil
}

// Dropped returns how many lines have been dropped and not reported.
func (l *Lines) Dropped() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.dropped
}

// pass writes what waits, until Close.
func (l *Lines) pass() {
	defer close(l.done)
	for {
		l.mutex.Lock()
		for len(l.waiting) == 0 && !l.closed {
			l.changed.Wait()
		}
		list, dropped := l.waiting, l.dropped
		if len(list) == 0 && dropped == 0 {
			l.mutex.Unlock()
			return
		}
		l.waiting, l.dropped = nil, 0
		l.mutex.Unlock()
		for _, line := range list {
			_, _ = l.to.Write(line)
			l.mutex.Lock()
			l.bytes -= len(line)
			l.passed++
			l.mutex.Unlock()
		}
		if dropped > 0 {
			l.told(l.to, dropped)
		}
	}
}

// Close waits until everything is written, as long as something still gets written within patience, and ends.
func (l *Lines) Close(patience time.Duration) {
	l.mutex.Lock()
	l.closed = true
	l.changed.Signal()
	before := l.passed
	l.mutex.Unlock()
	for {
		select {
		case <-l.done:
			return
		case <-time.After(patience):
		}
		l.mutex.Lock()
		passed := l.passed
		l.mutex.Unlock()
		if passed == before {
			return
		}
		before = passed
	}
}
