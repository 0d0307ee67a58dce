package pipeline

import (
	"fmt"
	"sync"
	"time"
)

// fewRejected is how many records in a row must be rejected before a problem with the feed is reported: a
// sender may fail briefly.
const fewRejected = 20

// rejecting tracks whether any of the input can be used. If the feed has another dimension, the support
// does not match it, or a sender has changed, all records go to the dead letters: the stage makes progress
// but answers nothing.
type rejecting struct {
	mutex    sync.Mutex
	since    time.Time // the first rejection after the last usable record
	records  int64     // rejected since then
	why      string    // the reason of the last rejection
	unsolved bool      // the last episode was rejected as a whole, so readable records do not end the outage
}

// used is called when a record could be read and has items, and with solved when an episode was answered.
func (r *rejecting) used(solved bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.unsolved = r.unsolved && !solved; !r.unsolved {
		r.records = 0
	}
}

// rejected is called for an unusable record, and with unsolved for the items of an episode that could not be
// solved.
func (r *rejecting) rejected(n int, why string, unsolved bool, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.records == 0 {
		r.since = now
	}
	r.unsolved = r.unsolved || unsolved
	r.records += int64(n)
	r.why = why
}

// lasting returns for how long every record has been rejected: 0 if some could be used, or too
// few were rejected.
func (r *rejecting) lasting(now time.Time) time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.records < fewRejected {
		return 0
	}
	return now.Sub(r.since)
}

// trouble reports that every record has been rejected for longer than limit.
func (r *rejecting) trouble(now time.Time, limit time.Duration) (Trouble, bool) {
	lasting := r.lasting(now)
	if lasting < limit || lasting == 0 {
		return Trouble{}, false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return Trouble{
		Of:    ofRecords,
		What:  fmt.Sprintf("nothing of the input could be used for %v: all %d records went to the dead letters", lasting.Round(time.Second), r.records),
		Cause: r.why,
		Do:    "compare the feed with --format, --dimension and --support: slkstream check does; slkstream dead list shows the records, and dead replay sends them again",
	}, true
}
