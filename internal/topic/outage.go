package topic

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Outage says once that something does not work, waits longer from try to try, and says once that it works
// again.
type Outage struct {
	failures *failures
	log      *slog.Logger
	what     string
	since    time.Time
	tries    int
	noted    bool
}

// Outage watches what, which reads like "reading in/0". It tells log; nil: the client's own.
func (c *Client) Outage(log *slog.Logger, what string) *Outage {
	if log == nil {
		log = c.log
	}
	return &Outage{failures: &c.failures, log: log, what: what}
}

// Wait is called after a failure, before the next try. The first wait is short, as most faults are a
// connection that broke or a leader that moved; the longest is two seconds. It returns ctx's error if that
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
	pause = pause/2 + rand.N(pause/2+1) // not all partitions at once
	return Pause(ctx, pause)
}

// Pause waits for d. It returns ctx's error if that ends first.
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

// Note keeps a cause for whoever asks what does not work, until Over: something that works, and does not get
// on.
func (o *Outage) Note(err error) {
	o.noted = true
	o.failures.set(o.what, err)
}

// Over is called after a success. There is no outage where o is nil.
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

// Lasting is how long it has not worked.
func (o *Outage) Lasting() time.Duration {
	if o == nil || o.tries == 0 {
		return 0
	}
	return time.Since(o.since)
}

// failures are what fails now in a client, so that whoever waits can say what for.
type failures struct {
	mutex sync.Mutex
	list  map[string]failure // by what an outage watches
}

type failure struct {
	err error
	at  time.Time // of the last try
}

// set notes the last error of what an outage watches; nil: it is over.
func (f *failures) set(what string, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err == nil {
		delete(f.list, what)
		return
	}
	if f.list == nil {
		f.list = map[string]failure{}
	}
	f.list[what] = failure{err, time.Now()}
}

// Failing says what does not work now that concerns a partition, or else one of the topics, and why; "" and
// nil: nothing.
func (c *Client) Failing(tp TopicPartition, topics ...string) (what string, err error) {
	const longest = 10 * time.Second // between two tries
	f := &c.failures
	f.mutex.Lock()
	defer f.mutex.Unlock()
	own := fmt.Sprintf("%s/%d", tp.Topic, tp.Partition)
	for w, one := range f.list {
		if time.Since(one.at) > longest { // given up, or over since
			delete(f.list, w)
			continue
		}
		if strings.HasSuffix(w, own) {
			return w, one.err
		}
		for _, name := range topics {
			if strings.Contains(w, name) {
				what, err = w, one.err
			}
		}
	}
	return what, err
}
