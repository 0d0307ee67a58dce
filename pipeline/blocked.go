package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// blocked is the error of a partition that cannot be restored because its journal cannot be read.
type blocked struct {
	state topic.TopicPartition // of the partition's state
	end   int64                // of that state when it was read
	err   error
}

func (b *blocked) Error() string { return fmt.Sprintf("state %s: %v", b.state, b.err) }

func (b *blocked) Unwrap() error { return b.err }

// untilChanged waits for a write to the state that blocks a partition. Reading it again before that
// would fail again.
func (s *Stage) untilChanged(ctx context.Context, b *blocked) {
	for {
		if topic.Pause(ctx, 2*time.Second) != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		end, err := s.client.Offset(limited, b.state.Topic, b.state.Partition, topic.Latest, false)
		cancel()
		if err == nil && end != b.end {
			return
		}
	}
}
