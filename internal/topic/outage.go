package topic

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outage paces the retries of an operation: it waits longer from try to try, and logs once that the operation
// fails and once that it works again.
type Outage struct {
	failures *failures
	log      *slog.Logger
	what     string
	since    time.Time
	tries    int
	noted    bool
}

// Outage returns an Outage for the operation what, such as "reading in/0". log nil: the client's own.
func (c *Client) Outage(log *slog.Logger, what string) *Outage {
	if log == nil {
		log = c.log
	}
	return &Outage{failures: &c.failures, log: log, what: what}
}

// NewOutage returns an Outage for an operation that is not a client's.
func NewOutage(log *slog.Logger, what string) *Outage {
	return &Outage{failures: &failures{}, log: log, what: what}
}

// Wait must be called after a failure, before the next try. The first wait is short, because most failures
// are a broken connection or a moved leader; the longest is two seconds. It returns ctx's error if ctx
// ends first.
func (o *Outage) Wait(ctx context.Context, err error) error {
	if o.tries++; o.tries == 1 {
		o.since = time.Now()
	} else if o.tries == 4 {
		o.log.Warn(o.what+" fails, trying again until it works", "error", err)
	}
	if o.tries >= 4 {
		o.failures.set(o.what, err)
	}
	pause := min(20*time.Millisecond<<min(o.tries-1, 10), 2*time.Second)
	pause = pause/2 + rand.N(pause/2+1) // so that partitions do not retry all at once
	return Pause(ctx, pause)
}

// Retry repeats do until it succeeds, its error is one that again does not wait for, or ctx ends, and
// returns the last error, or ctx's. again nil: Temporary.
func (o *Outage) Retry(ctx context.Context, again func(error) bool, do func() error) error {
	if again == nil {
		again = Temporary
	}
	for {
		err := do()
		if err == nil {
			o.Over()
			return nil
		}
		if !again(err) {
			return err
		}
		if err := o.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// Pause waits for d. It returns ctx's error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// note registers err for Client.Failing until the next Over. It is for an operation that succeeds but makes
// no progress.
func (o *Outage) note(err error) {
	o.noted, o.tries = true, 0
	o.failures.set(o.what, err)
}

// Over must be called after a success. o may be nil.
func (o *Outage) Over() {
	if o == nil {
		return
	}
	if o.noted {
		o.noted = false
		o.failures.set(o.what, nil)
	}
	if o.tries >= 4 {
		o.failures.set(o.what, nil)
		o.log.Info(o.what+" works again", "after", time.Since(o.since).Round(time.Millisecond))
	}
	o.tries = 0
}

// Lasting is the time since the first failure; 0 if there was none since Over, or o is nil.
func (o *Outage) Lasting() time.Duration {
	if o == nil || o.tries == 0 {
		return 0
	}
	return time.Since(o.since)
}

// failures holds the operations of a client that fail now, for status reports.
type failures struct {
	mutex sync.Mutex
	list  map[string]Failure // by Outage.what
}

// Failure is an operation that fails now.
type Failure struct {
	What  string // such as "reading in/0"; "": none fails
	Err   error  // of the last try
	Since time.Time
	at    time.Time // of the last try
}

// set stores the last error of an operation; nil: it works again.
func (f *failures) set(what string, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err == nil {
		delete(f.list, what)
		return
	}
	if f.list == nil {
		f.list = map[string]Failure{}
	}
	now := time.Now()
	one := Failure{What: what, Err: err, Since: now, at: now}
	if before, known := f.list[what]; known {
		one.Since = before.Since
	}
	f.list[what] = one
}

// Failing returns an operation that fails now: one on the partition, or else one on any of the topics.
func (c *Client) Failing(tp TopicPartition, topics ...string) (found Failure) {
	const longest = 10 * time.Second // between two tries
	f := &c.failures
	f.mutex.Lock()
	defer f.mutex.Unlock()
	own := fmt.Sprintf("%s/%d", tp.Topic, tp.Partition)
	for w, one := range f.list {
		if time.Since(one.at) > longest { // the operation was abandoned
			delete(f.list, w)
			continue
		}
		for word := range strings.FieldsSeq(w) {
			if word == own || strings.HasSuffix(word, "/"+own) { // or of its transactional id
				return one
			}
			name, _, _ := strings.Cut(word, "/")
			if slices.Contains(topics, name) {
				found = one
			}
		}
	}
	return found
}
