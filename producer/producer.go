// Package producer hands what an input partition has to say to Kafka: results, state, dead letters, episode
// records and the offset, all of one commit, as one operation.
package producer

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// ErrFenced is returned when another owner has taken the partition over: whatever this one still does is in
// vain.
var ErrFenced = errors.New("another owner has taken the partition")

// Claim is the right to answer one input partition, as the consumer group gave it.
type Claim struct {
	Group, Topic string
	Partition    int32
	Generation   *kafka.Generation
}

// Commit is what one commit of one input partition hands over.
type Commit struct {
	Records []record.Out // results, dead letters, episode and review records, in order
	State   []record.Out // journal and snapshots, in order; durable before the offset, after the records
	Offset  int64        // the next offset this partition's owner would read; -1: unchanged
}

// Committer makes commits of one claim durable. Commit returns nil only when its records are. Its state and
// offset may follow until the next commit that has some, which fails if they have failed, and writes nothing
// of its own state then; Close waits for the last ones. It never reorders, and ErrFenced from it is final.
// Any other error means that the partition has to start again from what is committed. One goroutine calls it
// at a time.
type Committer interface {
	Commit(ctx context.Context, c *Commit) error
	Close(ctx context.Context) error
	// Failed receives the error of what the last Commit left to be written after its return: the next Commit
	// would return it, but a quiet partition may make none. nil: Commit leaves nothing.
	Failed() <-chan error
	// GiveUpHanging gives up what a transaction of the claim's earlier owners has left open in a partition,
	// though their claims are fenced: readers of what is committed stand before it. What nobody of them left is
	// not touched. It is called before the first Commit.
	GiveUpHanging(ctx context.Context, tp topic.TopicPartition) error
	// StateEnd returns the offset after the last record of state that was written: -1 if none was, ok false if
	// that is not known. It is called after Close.
	StateEnd() (end int64, ok bool)
}

// Delivery is a promise about repeats, at-least-once or exactly-once. Claim fences earlier owners as far as
// the promise asks for it and returns the committed offset (-1: none), to be read only after that.
type Delivery interface {
	Claim(ctx context.Context, c Claim) (Committer, int64, error)
}
