package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// ErrRevoked is the cause of the end of a partition's context when the group takes the partition back.
var ErrRevoked = errors.New("the group has taken the partition back")

// Assignment is a partition that the group has given to this process, for one generation.
type Assignment struct {
	Topic      string
	Partition  int32
	Generation *kafka.Generation
}

// GroupSettings say how to take part in a group. Zero values get the defaults.
type GroupSettings struct {
	ID     string
	Topics []string
	// Session is how long the group waits for a sign of life, default 10 s; Rebalance how long for a member to hand its
	// partitions over, default 10 s. A partition must be handed over well within the smaller of both.
	Session, Rebalance time.Duration
	// Watch is how often topics are looked at for new partitions, default 5 s.
	Watch time.Duration
	// Rebalanced is told of each generation and how many partitions it brought.
	Rebalanced func(generation int32, partitions int)
}

func (s *GroupSettings) fill() {
	if s.Session == 0 {
		s.Session = 10 * time.Second
	}
	if s.Rebalance == 0 {
		s.Rebalance = 10 * time.Second
	}
	if s.Watch == 0 {
		s.Watch = 5 * time.Second
	}
}

// HandOver is how long a partition may take to be handed over once it is revoked: nobody sends signs of life any more,
// so that the group gives the partition away after the smaller of both timeouts, whatever its owner is still doing.
func (s GroupSettings) HandOver() time.Duration {
	s.fill()
	return min(s.Session, s.Rebalance) / 3
}

// Work joins the group and calls own for each partition it is given, in a goroutine of its own, until ctx ends; then it
// waits for all of them and leaves the group. The context that own gets ends with ctx, or with ErrRevoked as its cause.
// own returns only then; an error from it is final.
//
// Generations are used rather than kafka-go's group Reader because that one commits partitions it no longer owns and
// sends their new owner back.
func Work(ctx context.Context, client *topic.Client, s GroupSettings, log *slog.Logger, own func(context.Context, Assignment) error) error {
	s.fill()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: s.ID, Brokers: client.Brokers(), Dialer: client.Dialer(), Topics: s.Topics,
		HeartbeatInterval: s.Session / 5, SessionTimeout: s.Session, RebalanceTimeout: s.Rebalance,
		JoinGroupBackoff: 250 * time.Millisecond, StartOffset: kafka.FirstOffset,
		WatchPartitionChanges: true, PartitionWatchInterval: s.Watch,
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", s.ID, err)
	}
	defer group.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var owners sync.WaitGroup
	outage := topic.NewOutage(log, "joining group "+s.ID)
	for {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			if errors.Is(err, kafka.RebalanceInProgress) {
				continue // another member came or went while this one joined
			}
			if outage.Wait(ctx, err) != nil {
				break
			}
			continue
		}
		outage.Over()
		count := 0
		for name, partitions := range generation.Assignments {
			for _, p := range partitions {
				count++
				owners.Add(1)
				generation.Start(func(revoked context.Context) {
					mine, cancel := context.WithCancelCause(ctx)
					stop := context.AfterFunc(revoked, func() { cancel(ErrRevoked) })
					err := own(mine, Assignment{name, int32(p.ID), generation})
					stop()
					cancel(nil)
					if err != nil {
						fail(err)
					}
					owners.Done()
					// A function that returns ends the generation for all of them.
					<-revoked.Done()
				})
			}
		}
		log.Info("partitions assigned", "group", s.ID, "generation", generation.ID, "partitions", count)
		if s.Rebalanced != nil {
			s.Rebalanced(generation.ID, count)
		}
	}
	owners.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
