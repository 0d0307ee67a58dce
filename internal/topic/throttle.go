package topic

import (
	"context"
	"sync"
	"time"
)

// Throttled is reported while the brokers keep a reader or a writer waiting, because this client uses more than its
// quota.
type Throttled struct {
	What string        // "reading" or "writing to", and the topic or partition
	For  time.Duration // how long it has to wait
}

func (e *Throttled) Error() string {
	return e.What + ": the brokers throttle this client to its quota"
}

// longestThrottle bounds a wait: the quota may be raised meanwhile.
const longestThrottle = 30 * time.Second

// throttled waits for as long as the brokers ask, and logs it at most once a minute, as told says. They keep the
// connection waiting for as long: a request sent meanwhile would look like one that they do not answer.
func (c *Client) throttled(ctx context.Context, t *Throttled, o *Outage, told *time.Time) error {
	if time.Since(*told) > time.Minute {
		*told = time.Now()
		c.log.Warn(t.What+" waits: the brokers throttle this client to its quota", "wait", t.For)
	}
	const moment = 2 * time.Second // after which what fails would count as given up
	for left := min(t.For, longestThrottle); left > 0 && ctx.Err() == nil; left -= moment {
		o.note(t)
		_ = Pause(ctx, min(left, moment))
	}
	return ctx.Err()
}

// writeQuota is until when the brokers want nothing more written.
type writeQuota struct {
	mutex sync.Mutex
	until time.Time
}

// asked notes that the brokers ask for a wait.
func (q *writeQuota) asked(wait time.Duration) {
	if wait <= 0 {
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if until := time.Now().Add(wait); until.After(q.until) {
		q.until = until
	}
}

func (q *writeQuota) left() time.Duration {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return time.Until(q.until)
}

// waitForQuota waits until the brokers take more. The outage, which may be nil, is over once the batches are sent.
func (s *Sender) waitForQuota(ctx context.Context, batches []*EncodedBatch) (*Outage, error) {
	wait := s.Client.quota.left()
	if wait <= 0 || len(batches) == 0 {
		return nil, nil
	}
	name := batches[0].Topic
	outage := s.outage(name)
	return outage, s.Client.throttled(ctx, &Throttled{"writing to " + name, wait}, outage, &s.waited)
}
