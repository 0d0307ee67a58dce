// Package reuse hands memory from one use to the next. Whoever takes it owns it until they give it back, once, and
// nobody reads it after that: what is given back is empty, and under the race detector its bytes are overwritten.
package reuse

import "sync"

// most is how much of a kind waits for its next use.
const most = 8

// List holds what waits for its next use. It is safe for concurrent use.
type List[T any] struct {
	mutex sync.Mutex
	free  []*T
}

// Take returns what was given back last, or a new one.
func (l *List[T]) Take() *T {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	last := len(l.free) - 1
	if last < 0 {
		return new(T)
	}
	t := l.free[last]
	l.free = l.free[:last]
	return t
}

// Give takes t back.
func (l *List[T]) Give(t *T) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.free) < most {
		l.free = append(l.free, t)
	}
}

// Emptied returns s without elements, in the same memory, which refers to nothing any more.
func Emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// Spoiled returns b without bytes, in the same memory.
func Spoiled(b []byte) []byte {
	if spoils {
		for i := range b[:cap(b)] {
			b[:cap(b)][i] = 0xdb
		}
	}
	return b[:0]
}
