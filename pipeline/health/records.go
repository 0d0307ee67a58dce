package health

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// fewRejected is how many records in a row must be rejected before a problem with the feed is reported: a
// sender may fail briefly.
const fewRejected = 20

// Records tracks whether any of the input can be used. If the feed has another dimension, the support does not
// match it, or a sender has changed, all records go to the dead letters: the stage makes progress but answers
// nothing.
type Records struct {
	mutex    sync.Mutex
	bad      fault // since the first rejection after the last usable record
	rejected int64 // records, since then
	unsolved bool  // the last episode was rejected as a whole, so readable records do not end the outage
}

// Used is called when a record could be read and has items, and with solved when an episode was answered.
func (r *Records) Used(solved bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.unsolved = r.unsolved && !solved; !r.unsolved {
		r.bad.ends()
		r.rejected = 0
	}
}

// Rejected is called for an unusable record, and with unsolved for the items of an episode that could not be
// solved.
func (r *Records) Rejected(n int, why string, unsolved bool, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.bad.holds(errors.New(why), now)
	r.unsolved = r.unsolved || unsolved
	r.rejected += int64(n)
}

// Lasting returns for how long every record has been rejected: 0 if some could be used, or too few were
// rejected.
func (r *Records) Lasting(now time.Time) time.Duration {
	lasting, _, _ := r.outage(now)
	return lasting
}

func (r *Records) outage(now time.Time) (lasting time.Duration, rejected int64, why error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.rejected >= fewRejected {
		lasting, why = r.bad.lasting(now, 0)
	}
	return lasting, r.rejected, why
}

// Troubles reports that every record has been rejected for longer than limit.
func (r *Records) Troubles(now time.Time, limit time.Duration) []Trouble {
	lasting, rejected, why := r.outage(now)
	if lasting < limit || lasting == 0 {
		return nil
	}
	return []Trouble{{
		Of: OfRecords,
		What: fmt.Sprintf(
			"nothing of the input could be used for %v: all %d records went to the dead letters",
			lasting.Round(time.Second),
			rejected,
		),
		Cause: why.Error(),
		Do:    "compare the feed with --format, --dimension and --support: slkstream check does; slkstream dead list shows the records, and dead replay sends them again",
	}}
}
