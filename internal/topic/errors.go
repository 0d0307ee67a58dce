package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// OutOfRange is returned by a Reader whose position is not in the log: older than what retention kept, or
// past the end (a log that was cut or made anew). The caller decides where to go on, with MoveTo, or gives
// up; nothing is skipped silently.
type OutOfRange struct {
	Topic      string
	Partition  int32
	Offset     int64 // where the reader stood
	First, End int64 // what the log holds: First <= offset < End
}

func (e *OutOfRange) Error() string {
	return fmt.Sprintf("%s/%d: offset %d is outside the log, which holds %d to %d", e.Topic, e.Partition,
		e.Offset, e.First, e.End)
}

// Undecided is why a reader of what is committed does not get on: a transaction has not ended yet. The broker
// ends it after its timeout, if it still knows of it; one that hangs stays until somebody ends it.
type Undecided struct {
	Topic     string
	Partition int32
	Offset    int64 // where it begins
}

func (e *Undecided) Error() string {
	return fmt.Sprintf("%s/%d: a transaction that began at offset %d has not ended", e.Topic, e.Partition,
		e.Offset)
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

// Temporary says whether waiting may cure an error: a connection lost, a leader or coordinator that moves,
// replicas that are missing, a topic just made and not yet known everywhere. Rights, sizes and fences are not
// cured by waiting.
func Temporary(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.BrokerNotAvailable, kafka.ReplicaNotAvailable, kafka.ConcurrentTransactions,
			kafka.UnstableOffsetCommit,
			// Unknown stands for a part of a split request that got no answer
			kafka.ThrottlingQuotaExceeded, kafka.Unknown:
			return true
		case kafka.InvalidReplicationFactor: // too few brokers are up yet: those of the input's replicas come back
			return true
		case kafka.InvalidMessage: // a checksum that fails fails again
			return false
		}
		return code.Temporary()
	}
	var token tokenError
	return errors.As(err, &token) || IsMissing(err) || errors.Is(err, protocol.ErrNoLeader) ||
		errors.Is(err, context.DeadlineExceeded) || brokenConnection(err)
}

// Cause is what an error means for whoever wants a record written.
type Cause int

const (
	// Away: brokers, leaders or coordinators cannot be had just now; waiting cures it.
	Away Cause = iota
	// Rejected: this record will never be taken, whatever is done: it is too large, or its time or form is not
	// allowed.
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
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidTimestamp, kafka.InvalidRecord,
		kafka.UnsupportedForMessageFormat:
		return Rejected
	case kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.TransactionalIDAuthorizationFailed,
		kafka.PolicyViolation, kafka.InvalidTopic, kafka.SASLAuthenticationFailed, kafka.SecurityDisabled,
		kafka.InvalidRequiredAcks:
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
	return errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) ||
		errors.Is(err, kafka.UnknownTopicOrPartition)
}

func brokenConnection(err error) bool {
	var dial *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &dial)
}
