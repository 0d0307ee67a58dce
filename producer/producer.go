// Package producer writes each commit of an input partition to Kafka as one operation: results, state, dead
// letters, episode records and the offset.
package producer

import (
	"context"
	"errors"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// ErrFenced is returned when another owner has taken over the partition. Later writes are rejected.
var ErrFenced = errors.New("another owner has taken the partition")

// Claim is the assignment of one input partition by the consumer group.
type Claim struct {
	Group, Topic string
	Partition    int32
	Generation   *topic.Generation
	// What its commits write to. Claims of earlier owners wrote there too.
	Out   []string             // topics of records; those that are missing and empty names count as none
	State topic.TopicPartition // without a name: none
}

// Commit is the content of one commit of an input partition.
type Commit struct {
	Records []record.Out // results, dead letters, episode and review records, in order
	State   []record.Out // journal and snapshots, or what follows from the records, in order; durable after these, before the offset
	Offset  int64        // next offset to be read; -1: unchanged
	// Stated is called once State is durable, with what StateEnd would return. That may be on another goroutine; calls
	// are in the order of the commits. nil: not called.
	Stated func(end int64, ok bool)
}

// Committer makes commits of one claim durable. Commit returns nil only when its records are durable. Its
// state and offset may be written after it has returned, until the next commit that has some. If that write
// fails, so does the next commit, which then writes none of its own state; Close waits for the last such
// write. Commits are never reordered, and ErrFenced is final. After any other error the partition must
// restart from the committed offset. It must be called from one goroutine at a time.
type Committer interface {
	Commit(ctx context.Context, c *Commit) error
	Close(ctx context.Context) error
	// Failed receives the error of what the last Commit wrote after its return. The next Commit would return it,
	// but a quiet partition may make none. It is nil if Commit leaves nothing to be written.
	Failed() <-chan error
	// StateEnd returns the offset after the last state record that was written: -1 if none was, ok false if it
	// is not known. It is called after Close.
	StateEnd() (end int64, ok bool)
}

// Delivery is a delivery guarantee: at least once or exactly once. Claim fences earlier owners as far as the
// guarantee requires and returns the committed offset (-1: none), which it reads only after that.
type Delivery interface {
	Claim(ctx context.Context, c Claim) (Committer, int64, error)
}
