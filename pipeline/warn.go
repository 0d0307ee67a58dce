package pipeline

import (
	"sync"
	"time"
)

// sayEvery is how often a trouble that lasts is told again.
const sayEvery = time.Minute

// warnings says each trouble at once, and then once a minute for as long as it comes back.
type warnings struct {
	mutex sync.Mutex
	last  map[string]*warning
}

type warning struct {
	at    time.Time
	times int
}

// once calls say, with how many times the trouble came since it was last said, unless it was said within a minute. name
// tells troubles apart; there are few.
func (w *warnings) once(name string, say func(times int)) {
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
