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

// OutOfRange is returned by Reader.Read if the position is outside the log: deleted by retention, or past the
// end because the log was truncated or the topic created again. The caller decides where to continue, with a
// new Reader; nothing is skipped silently.
type OutOfRange struct {
	Topic      string
	Partition  int32
	Offset     int64 // the reader's position
	First, End int64 // the log holds First <= offset < End
}

func (e *OutOfRange) Error() string {
	return fmt.Sprintf("%s/%d: offset %d is outside the log, which holds %d to %d", e.Topic, e.Partition,
		e.Offset, e.First, e.End)
}

// Undecided is reported while an open transaction blocks a reader of committed records. The broker aborts the
// transaction after its timeout, unless the coordinator no longer knows it: such a hanging transaction stays
// until an administrator aborts it.
type Undecided struct {
	Topic     string
	Partition int32
	Offset    int64 // the transaction's first offset
}

func (e *Undecided) Error() string {
	return fmt.Sprintf("%s/%d: a transaction that began at offset %d has not ended", e.Topic, e.Partition,
		e.Offset)
}

// Refused is the error of one partition in an otherwise successful answer.
type Refused struct {
	What      string // the operation, such as "write"
	Topic     string
	Partition int32
	Err       error // usually a kafka.Error
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s %s/%d: %v", e.What, e.Topic, e.Partition, e.Err)
}

// Unwrap returns the broker's error, for errors.Is and errors.As.
func (e *Refused) Unwrap() error { return e.Err }

// Temporary says whether an error may go away by waiting: a lost connection, a leader or coordinator that
// moves, missing replicas, a new topic that not all brokers know yet. Missing rights, wrong sizes and fencing
// do not go away.
func Temporary(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.BrokerNotAvailable, kafka.ReplicaNotAvailable, kafka.ConcurrentTransactions,
			kafka.UnstableOffsetCommit,
			// Unknown is the error of a part of a split request without an answer.
			kafka.ThrottlingQuotaExceeded, kafka.Unknown,
			kafka.InvalidTimestamp: // a clock is set sooner or later
			return true
		case kafka.InvalidReplicationFactor: // too few brokers are up; those with the input's replicas will come
			return true
		case kafka.InvalidMessage: // a wrong checksum stays wrong
			return false
		}
		return code.Temporary()
	}
	var token tokenError
	return errors.As(err, &token) || IsMissing(err) || errors.Is(err, protocol.ErrNoLeader) ||
		errors.Is(err, context.DeadlineExceeded) || brokenConnection(err)
}

// Cause classifies the error of a write by what would cure it.
type Cause int

const (
	// Away: brokers, leaders or coordinators are unavailable; waiting cures it.
	Away Cause = iota
	// Rejected: the record will never be accepted: it is too large, or its format is not allowed.
	Rejected
	// Denied: an administrator must change something first: rights, a policy, a topic that does not exist, a clock.
	Denied
	// Broken: anything else.
	Broken
)

// CauseOf classifies err; nil is Broken.
func CauseOf(err error) Cause {
	var code kafka.Error
	switch errors.As(err, &code); code {
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidRecord,
		kafka.UnsupportedForMessageFormat:
		return Rejected
	case kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.TransactionalIDAuthorizationFailed,
		kafka.PolicyViolation, kafka.InvalidTopic, kafka.SASLAuthenticationFailed, kafka.SecurityDisabled,
		kafka.InvalidRequiredAcks, kafka.InvalidTimestamp:
		return Denied
	}
	if Temporary(err) {
		return Away
	}
	return Broken
}

// forSize says whether err rejects a record or a batch because it is too large.
func forSize(err error) bool {
	return errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge)
}

// IsMissing says whether err means that the topic or the partition is not in the cluster's metadata.
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
