package telemetry

import (
	"sync"
	"time"
)

// sayEvery is the interval at which a lasting problem is logged again.
const sayEvery = time.Minute

// Warnings logs each problem at once, then once a minute while it recurs.
type Warnings struct {
	mutex sync.Mutex
	last  map[string]*warning
}

type warning struct {
	at    time.Time
	times int
}

// Once calls say with the number of times the problem occurred since it was last logged, unless that was less
// than a minute ago. name identifies the problem; there are few names.
func (w *Warnings) Once(name string, say func(times int)) {
	w.mutex.Lock()
	if w.last == nil {
		w.last = map[string]*warning{}
	}
	last := w.last[name]
	if last == nil {
		last = &warning{}
		w.last[name] = last
	}
	last.times++
	times := last.times
	now := time.Now()
	if now.Sub(last.at) < sayEvery {
		w.mutex.Unlock()
		return
	}
	last.at, last.times = now, 0
	w.mutex.Unlock()
	say(times)
}
