package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// OutOfRange is returned by a Reader whose position is not in the log: older than what retention kept, or past the end
// (a log that was cut or made anew). The caller decides where to go on, with MoveTo, or gives up; nothing is skipped silently.
type OutOfRange struct {
	Topic      string
	Partition  int32
	Offset     int64 // where the reader stood
	First, End int64 // what the log holds: First <= offset < End
}

func (e *OutOfRange) Error() string {
	return fmt.Sprintf("%s/%d: offset %d is outside the log, which holds %d to %d", e.Topic, e.Partition, e.Offset, e.First, e.End)
}

// Refused is a broker's no to one partition, inside an answer that was a success as a whole.
type Refused struct {
	What      string
	Topic     string
	Partition int32
	Err       error // usually a kafka.Error
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s %s/%d: %v", e.What, e.Topic, e.Partition, e.Err)
}

// Unwrap gives the broker's error, so that errors.Is finds kafka's.
func (e *Refused) Unwrap() error { return e.Err }

// Temporary says whether waiting may cure an error: a connection lost, a leader or coordinator that moves, replicas that
// are missing, a topic just made and not yet known everywhere. Rights, sizes and fences are not cured by waiting.
func Temporary(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.BrokerNotAvailable, kafka.ReplicaNotAvailable, kafka.ConcurrentTransactions, kafka.UnstableOffsetCommit,
			kafka.ThrottlingQuotaExceeded, kafka.Unknown: // Unknown stands for a part of a split request that got no answer
			return true
		case kafka.InvalidReplicationFactor: // too few brokers are up yet: those of the input's replicas come back
			return true
		case kafka.InvalidMessage: // a checksum that fails fails again
			return false
		}
		return code.Temporary()
	}
	var token tokenError
	return errors.As(err, &token) || IsMissing(err) || errors.Is(err, protocol.ErrNoLeader) || errors.Is(err, context.DeadlineExceeded) || brokenConnection(err)
}

// Cause is what an error means for whoever wants a record written.
type Cause int

const (
	// Away: brokers, leaders or coordinators cannot be had just now; waiting cures it.
	Away Cause = iota
	// Rejected: this record will never be taken, whatever is done: it is too large, or its time or form is not allowed.
	Rejected
	// Denied: it could be taken once somebody changes something: rights, a policy, a topic that does not exist.
	Denied
	// Broken: anything else.
	Broken
)

// String is a word for messages and metrics.
func (c Cause) String() string { return [...]string{"away", "rejected", "denied", "broken"}[c] }

// CauseOf says what kind of error err is; nil is Broken.
func CauseOf(err error) Cause {
	var code kafka.Error
	switch errors.As(err, &code); code {
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidTimestamp, kafka.InvalidRecord, kafka.UnsupportedForMessageFormat:
		return Rejected
	case kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed,
		kafka.PolicyViolation, kafka.InvalidTopic, kafka.SASLAuthenticationFailed, kafka.SecurityDisabled, kafka.InvalidRequiredAcks:
		return Denied
	}
	if Temporary(err) {
		return Away
	}
	return Broken
}

// forSize says whether a record, or a batch, is rejected because it is too large.
func forSize(err error) bool {
	return errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge)
}

// IsMissing says whether the cluster's layout, as last seen, lacks the topic or the partition.
func IsMissing(err error) bool {
	return errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) || errors.Is(err, kafka.UnknownTopicOrPartition)
}

func brokenConnection(err error) bool {
	var dial *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &dial)
}

// Outage says once that something does not work, waits longer from try to try, and says once that it works again.
type Outage struct {
	log   *slog.Logger
	what  string
	since time.Time
	tries int
}

// NewOutage watches what, which reads like "reading in/0".
func NewOutage(log *slog.Logger, what string) *Outage { return &Outage{log: log, what: what} }

// Wait is called after a failure, before the next try. The first wait is short, as most faults are a connection that
// broke or a leader that moved; the longest is two seconds. It returns ctx's error if that ends first.
func (o *Outage) Wait(ctx context.Context, err error) error {
	if o.tries++; o.tries == 1 {
		o.since = time.Now()
	} else if o.tries == 4 {
		o.log.Warn(o.what+" fails, trying again until it works", "error", err)
	}
	if o.tries >= 4 {
		failing.set(o, err)
	}
	pause := min(20*time.Millisecond<<min(o.tries-1, 10), 2*time.Second)
	pause = pause/2 + rand.N(pause/2+1) // not all partitions at once
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Over is called after a success. There is no outage where o is nil.
func (o *Outage) Over() {
	if o == nil {
		return
	}
	if o.tries >= 4 {
		failing.set(o, nil)
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

// failing holds what fails in this process, so that whoever waits can say what for.
var failing = failures{list: map[string]failure{}}

type failures struct {
	mutex sync.Mutex
	list  map[string]failure
}

type failure struct {
	err error
	at  time.Time // of the last try
}

// set notes an outage's last error; nil: it is over.
func (f *failures) set(o *Outage, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err == nil {
		delete(f.list, o.what)
	} else {
		f.list[o.what] = failure{err, time.Now()}
	}
}

// Failing says what does not work now that concerns a partition, or else one of the topics, and why; "" and nil: nothing.
func Failing(place Place, topics ...string) (what string, err error) {
	const longest = 10 * time.Second // between two tries
	failing.mutex.Lock()
	defer failing.mutex.Unlock()
	own := fmt.Sprintf("%s/%d", place.Topic, place.Partition)
	for w, f := range failing.list {
		if time.Since(f.at) > longest { // given up, or over since
			delete(failing.list, w)
			continue
		}
		if strings.HasSuffix(w, own) {
			return w, f.err
		}
		for _, name := range topics {
			if strings.Contains(w, name) {
				what, err = w, f.err
			}
		}
	}
	return what, err
}
