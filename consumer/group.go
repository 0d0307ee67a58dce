package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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
	// Session is how long the group waits for a sign of life, default 6 s, the least that brokers take unless
	// they are told otherwise (group.min.session.timeout.ms); Rebalance how long for a member to hand its
	// partitions over, default half as much again, as a member learns of it with its next sign of life, a fifth
	// of Session later at most. A partition must be handed over well within the smaller of both.
	Session, Rebalance time.Duration
	// Watch is how often topics are looked at for new partitions, default 5 s.
	Watch time.Duration
	// Advertise is what this member says of itself to whoever describes the group; see Advertised.
	Advertise string
	// Rebalanced is told of each generation and the partitions that it brought, before any of them has an owner.
	Rebalanced func(generation int32, assigned []topic.TopicPartition)
	// Left is told when this process takes part in no generation any more, with a nil error, and then each time
	// it fails to join, with the cause.
	Left func(error)
	// Missing is told which topics are missing, each time that the brokers say which there are.
	Missing func([]string)
}

func (s *GroupSettings) fill() {
	if s.Session == 0 {
		s.Session = 6 * time.Second
	}
	if s.Rebalance == 0 {
		s.Rebalance = s.Session + s.Session/2
	}
	if s.Watch == 0 {
		s.Watch = 5 * time.Second
	}
	if s.Rebalanced == nil {
		s.Rebalanced = func(int32, []topic.TopicPartition) {}
	}
	if s.Left == nil {
		s.Left = func(error) {}
	}
	if s.Missing == nil {
		s.Missing = func([]string) {}
	}
}

// Longest is how long a process may be away before the group gives its partitions to others.
func (s GroupSettings) Longest() time.Duration {
	s.fill()
	return s.Session
}

// HandOver is how long a partition may take to be handed over once it is revoked: nobody sends signs of life
// any more, so that the group gives the partition away after the smaller of both timeouts, whatever its owner
// is still doing.
func (s GroupSettings) HandOver() time.Duration {
	s.fill()
	return min(s.Session, s.Rebalance) / 3
}

// Work joins the group and calls own for each partition it is given, in a goroutine of its own, until ctx
// ends; then it waits for all of them and leaves the group. The context that own gets ends with ctx, or with
// ErrRevoked as its cause. own returns only then; an error from it is final. A topic that is missing is left
// out until it is there: the group would come to nothing for the others too.
//
// Generations are used rather than kafka-go's group Reader because that one commits partitions it no longer
// owns and sends their new owner back.
func Work(ctx context.Context, client *topic.Client, s GroupSettings, log *slog.Logger, own func(context.Context, Assignment) error) error {
	s.fill()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g := &membership{client: client, settings: s, log: log, own: own, fail: fail}
	for ctx.Err() == nil {
		layout := g.look(ctx)
		if len(layout) == 0 {
			s.Left(g.unable())
			g.pause(ctx)
			continue
		}
		if err := g.join(ctx, layout); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// membership takes part in a group.
type membership struct {
	client   *topic.Client
	settings GroupSettings
	log      *slog.Logger
	own      func(context.Context, Assignment) error
	fail     context.CancelCauseFunc
	missing  []string // topics that were told to be missing
	unknown  error    // why the brokers did not say which topics exist
}

// look says which of the topics exist, and how many partitions each has.
func (g *membership) look(ctx context.Context) map[string]int {
	layout := map[string]int{}
	var missing []string
	for _, name := range g.settings.Topics {
		n, err := g.client.Partitions(ctx, name)
		switch {
		case err == nil && n > 0:
			layout[name] = n
		case topic.IsMissing(err):
			missing = append(missing, name)
		case err != nil:
			g.unknown = err
			return nil // the brokers do not say
		}
	}
	g.unknown = nil
	g.settings.Missing(missing)
	if !slices.Equal(missing, g.missing) && ctx.Err() == nil {
		g.missing = missing
		if len(missing) > 0 {
			g.log.Error("an input topic is missing: it is waited for, the others go on", "topics", missing)
		} else {
			g.log.Info("all input topics are there again", "group", g.settings.ID)
		}
	}
	return layout
}

// unable is why there is nothing to join for.
func (g *membership) unable() error {
	if g.unknown != nil {
		return g.unknown
	}
	return fmt.Errorf("input topics %v: %w", g.missing, kafka.UnknownTopicOrPartition)
}

func (g *membership) pause(ctx context.Context) {
	_ = topic.Pause(ctx, min(g.settings.Watch, time.Second))
}

// changed returns when the layout is another one for sure, or ctx ends.
func (g *membership) changed(ctx context.Context, layout map[string]int) {
	ticker := time.NewTicker(g.settings.Watch)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if now := g.look(ctx); now != nil && !maps.Equal(now, layout) && ctx.Err() == nil {
				return
			}
		}
	}
}

// join is a member for as long as the layout stays.
func (g *membership) join(ctx context.Context, layout map[string]int) error {
	s := &g.settings
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	var incomplete atomic.Bool
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: s.ID, Brokers: g.client.Brokers(), Dialer: g.client.Dialer(), Topics: slices.Sorted(maps.Keys(layout)),
		HeartbeatInterval: s.Session / 5, SessionTimeout: s.Session, RebalanceTimeout: s.Rebalance,
		// A broker that does not answer for a while is no reason to give everything back: whether the session is
		// over is for the group to say.
		Timeout:          2 * s.Session,
		JoinGroupBackoff: 250 * time.Millisecond, StartOffset: kafka.FirstOffset,
		GroupBalancers: balancers(&incomplete, s.Advertise),
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", s.ID, err)
	}
	defer group.Close()
	var owners sync.WaitGroup
	defer owners.Wait()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		g.changed(ctx, layout)
		leave(ErrRevoked)
	}()
	defer func() { <-watched }()
	defer leave(nil)
	outage := g.client.Outage(g.log, "joining group "+s.ID)
	for {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if errors.Is(err, kafka.RebalanceInProgress) {
				continue // another member came or went while this one joined
			}
			s.Left(err)
			if outage.Wait(ctx, err) != nil {
				return nil
			}
			continue
		}
		outage.Over()
		if incomplete.Load() { // this member leads, and gave out what it found
			g.log.Warn("an input topic was missing when partitions were given out: the group begins again", "group", s.ID, "generation", generation.ID)
			g.pause(ctx)
			return nil
		}
		var assigned []topic.TopicPartition
		for name, partitions := range generation.Assignments {
			for _, p := range partitions {
				assigned = append(assigned, topic.TopicPartition{Topic: name, Partition: int32(p.ID)})
			}
		}
		g.log.Info("partitions assigned", "group", s.ID, "generation", generation.ID, "partitions", len(assigned))
		s.Rebalanced(generation.ID, assigned)
		generation.Start(func(revoked context.Context) {
			<-revoked.Done()
			s.Left(nil)
		})
		for _, position := range assigned {
			owners.Add(1)
			generation.Start(func(revoked context.Context) {
				mine, cancel := context.WithCancelCause(ctx)
				stop := context.AfterFunc(revoked, func() { cancel(ErrRevoked) })
				err := g.own(mine, Assignment{position.Topic, position.Partition, generation})
				stop()
				cancel(nil)
				if err != nil {
					g.fail(err)
				}
				owners.Done()
				// A function that returns ends the generation for all of them.
				<-revoked.Done()
			})
		}
	}
}
