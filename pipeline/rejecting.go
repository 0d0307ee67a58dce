package pipeline

import (
	"fmt"
	"sync"
	"time"
)

// fewRejected records may be rejected in a row without a word about the feed: a sender may err for a moment.
const fewRejected = 20

// rejecting follows whether anything of the input can be used. A feed of another dimension, a support that does not fit it, or a
// sender that was changed send every record to the dead letters: the stage gets on, and answers nothing.
type rejecting struct {
	mutex    sync.Mutex
	since    time.Time // of the first rejection since something could be used
	records  int64     // rejected since then
	why      string    // the last was
	unsolved bool      // the last episode was rejected as a whole: that its records can be read says nothing
}

// used notes that a record could be read and has items; answered, that an episode was.
func (r *rejecting) used() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.unsolved {
		r.records = 0
	}
}

func (r *rejecting) answered() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.unsolved, r.records = false, 0
}

// rejected notes a record that cannot be used; unsolved, the n items of an episode that could not be solved.
func (r *rejecting) rejected(why string, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.add(1, why, now)
}

func (r *rejecting) notSolved(n int, why string, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.unsolved = true
	r.add(n, why, now)
}

func (r *rejecting) add(n int, why string, now time.Time) {
	if r.records == 0 {
		r.since = now
	}
	r.records += int64(n)
	r.why = why
}

// lasting is for how long every record has been rejected: 0 where some could be used, or too few came to tell.
func (r *rejecting) lasting(now time.Time) time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.lasted(now)
}

// lasted is lasting, for who holds the mutex.
func (r *rejecting) lasted(now time.Time) time.Duration {
	if r.records < fewRejected {
		return 0
	}
	return now.Sub(r.since)
}

// trouble says that every record has been rejected for longer than limit, if so.
func (r *rejecting) trouble(now time.Time, limit time.Duration) (Trouble, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	lasting := r.lasted(now)
	if lasting < limit || lasting == 0 {
		return Trouble{}, false
	}
	return Trouble{
		What:  fmt.Sprintf("nothing of the input could be used for %v: all %d records went to the dead letters", lasting.Round(time.Second), r.records),
		Cause: r.why,
		Do:    "compare the feed with --format, --dimension and --support: slkstream check does; slkstream dead list shows the records, and dead replay sends them again",
	}, true
}
