package consumer

import (
	"cmp"
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

// ErrRevoked is the cause of the end of a partition's context when the group revokes the partition.
var ErrRevoked = errors.New("the group has taken the partition back")

// Assignment is a partition that the group has assigned to this process, for one generation.
type Assignment struct {
	topic.TopicPartition
	Generation *kafka.Generation
}

// GroupSettings configure membership of a group. A zero value means the default where one is stated.
type GroupSettings struct {
	ID     string
	Topics []string
	// Session is the session timeout, default 6 s, the least that brokers accept unless
	// group.min.session.timeout.ms allows less. Rebalance is how long the group waits for a member to release
	// its partitions, default half as much again, as a member learns of a rebalance with its next heartbeat, at
	// most a twelfth of Session later. A partition must be released well within the smaller of the two.
	Session, Rebalance time.Duration
	// Watch is how often topics are checked for new partitions, default 5 s.
	Watch time.Duration
	// Advertise is this member's text for other clients that describe the group; see Advertised.
	Advertise string
	// Out and State are the topics that this member writes results and state to, for OtherOuts and Neighbours.
	Out, State string
	// Agree holds the settings, by name, in which members must agree because answers depend on them. A member that
	// differs from those at work gets no partitions.
	Agree map[string]string
	// Rebalanced is called with each generation and its partitions, before any of them has an
	// owner; nil: not called.
	Rebalanced func(generation int32, assigned []topic.TopicPartition)
	// Left is called with nil when a generation of this process has ended, and with the cause each time it fails
	// to join or gets no partitions because of the other members (topic.GroupConflict); nil: not called.
	Left func(error)
	// Missing is called with the missing input topics after each check that the brokers answer; nil: not called.
	Missing func([]string)
}

func (s *GroupSettings) fill() {
	s.Session = cmp.Or(s.Session, 6*time.Second)
	s.Rebalance = cmp.Or(s.Rebalance, s.Session+s.Session/2)
	s.Watch = cmp.Or(s.Watch, 5*time.Second)
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

// Longest is how long a process may be away before the group reassigns its partitions.
func (s GroupSettings) Longest() time.Duration {
	s.fill()
	return s.Session
}

// HandOver is how long an owner may take to release a revoked partition. No heartbeats are sent by then, so
// the group reassigns the partition after the smaller of both timeouts, whatever its owner is still doing.
func (s GroupSettings) HandOver() time.Duration {
	s.fill()
	return min(s.Session, s.Rebalance) / 3
}

// Work joins the group and calls own for each assigned partition, in a separate goroutine, until ctx ends;
// then it waits for all of them and leaves the group. own's context ends with ctx, or with ErrRevoked as its
// cause. own returns only then, or with an error, which ends Work. Missing topics are left out until they
// exist, because with a missing topic the group would assign no partitions at all.
//
// It uses kafka-go's generations, not its group Reader, which commits offsets of partitions that it no longer
// owns and so sets back their new owner.
func Work(
	ctx context.Context,
	client *topic.Client,
	s GroupSettings,
	log *slog.Logger,
	own func(context.Context, Assignment) error,
) error {
	s.fill()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g := &membership{client: client, settings: s, log: log, own: own, fail: fail}
	for ctx.Err() == nil {
		layout := g.counts(ctx)
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

// leaving is how long a stop waits for the brokers to answer the requests of a group that it leaves. By then
// all partitions are handed over; a member that does not say that it leaves is missed after Session.
const leaving = 6 * time.Second

// membership is one call of Work.
type membership struct {
	client   *topic.Client
	settings GroupSettings
	log      *slog.Logger
	own      func(context.Context, Assignment) error
	fail     context.CancelCauseFunc
	owned    owned
	missing  []string // topics last reported as missing
	unknown  error    // why the last check of the topics failed; nil: it did not
	told     string   // the conflict that was logged last; "": there is none
}

// group describes the group; nothing is known of it if the brokers do not answer.
func (g *membership) group(ctx context.Context) *topic.Group {
	described, err := g.client.Group(ctx, g.settings.ID)
	if err != nil {
		g.log.Debug("the members of the group are not known", "group", g.settings.ID, "error", err)
	}
	return &described
}

// tell logs a conflict once.
func (g *membership) tell(conflict error) {
	if why := conflict.Error(); why != g.told {
		g.told = why
		g.log.Error("no partitions of the group for this process", "group", g.settings.ID, "error", conflict)
	}
}

// counts returns the number of partitions of each topic that exists; nil if the brokers do not answer.
func (g *membership) counts(ctx context.Context) map[string]int {
	layout := map[string]int{}
	var missing []string
	for _, name := range g.settings.Topics {
		n, err := g.client.Partitions(ctx, name)
		switch {
		case err == nil:
			layout[name] = n
		case topic.IsMissing(err):
			missing = append(missing, name)
		case err != nil:
			g.unknown = err
			return nil // not known, which is different from missing
		}
	}
	g.unknown = nil
	g.settings.Missing(missing)
	if !slices.Equal(missing, g.missing) && ctx.Err() == nil {
		g.missing = missing
		if len(missing) > 0 {
			g.log.Error("a topic is missing: it is waited for, and others are read", "group", g.settings.ID, "topics", missing)
		} else {
			g.log.Info("all topics are there again", "group", g.settings.ID)
		}
	}
	return layout
}

// unable returns why there is no topic to join for.
func (g *membership) unable() error {
	if g.unknown != nil {
		return g.unknown
	}
	return fmt.Errorf("topics %v: %w", g.missing, kafka.UnknownTopicOrPartition)
}

func (g *membership) pause(ctx context.Context) {
	_ = topic.Pause(ctx, min(g.settings.Watch, time.Second))
}

// changed returns when the layout is known to have changed, or ctx ends.
func (g *membership) changed(ctx context.Context, layout map[string]int) {
	ticker := time.NewTicker(g.settings.Watch)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if now := g.counts(ctx); now != nil && !maps.Equal(now, layout) && ctx.Err() == nil {
				return
			}
		}
	}
}

// join takes part in the group until the layout changes or ctx ends.
func (g *membership) join(ctx context.Context, layout map[string]int) error {
	s := &g.settings
	stopping := ctx
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	var incomplete atomic.Bool
	var connections connections
	dialer := *g.client.Dialer()
	dialer.DialFunc = connections.dialing(dialer.DialFunc)
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: s.ID, Brokers: g.client.Brokers(), Dialer: &dialer, Topics: slices.Sorted(maps.Keys(layout)),
		HeartbeatInterval: s.Session / 12, SessionTimeout: s.Session, RebalanceTimeout: s.Rebalance,
		// A broker that does not answer for a while must not make the member leave: the group decides when
		// the session is over.
		Timeout:          2 * s.Session,
		JoinGroupBackoff: 250 * time.Millisecond, StartOffset: kafka.FirstOffset,
		GroupBalancers: []kafka.GroupBalancer{
			watched{steady{s.Advertise, s.Out, s.State, s.Agree, &g.owned}, &incomplete},
		},
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", s.ID, err)
	}
	defer func() {
		if stopping.Err() != nil {
			defer time.AfterFunc(leaving, connections.cut).Stop()
		}
		group.Close()
	}()
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
				continue // another member joined or left meanwhile
			}
			if with := g.foreign("", g.group(ctx)); with != nil { // brokers differ in what they answer then
				err = with
				g.tell(err)
			}
			s.Left(err)
			if outage.Wait(ctx, err) != nil {
				return nil
			}
			continue
		}
		outage.Over()
		if incomplete.Load() { // this member leads and has assigned an incomplete set of topics
			g.log.Warn("an input topic was missing when partitions were given out: the group begins again",
				"group", s.ID, "generation", generation.ID)
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
		described := g.group(ctx)
		if with := g.foreign(generation.MemberID, described); with != nil { // the brokers divide the input among all
			g.tell(with)
			s.Left(with)
			g.pause(ctx)
			return nil
		}
		others, with := g.differing(generation.MemberID, described)
		for _, other := range others {
			g.log.Error("another process of the group gets no partitions: it has other settings", "group", s.ID, "process", other)
		}
		g.owned.set(generation.ID, assigned)
		s.Rebalanced(generation.ID, assigned)
		if with != nil {
			g.tell(with)
			s.Left(with)
		} else {
			g.told = ""
		}
		generation.Start(func(revoked context.Context) {
			<-revoked.Done()
			s.Left(nil)
		})
		for _, position := range assigned {
			owners.Add(1)
			generation.Start(func(revoked context.Context) {
				mine, cancel := context.WithCancelCause(ctx)
				stop := context.AfterFunc(revoked, func() { cancel(ErrRevoked) })
				err := g.own(mine, Assignment{position, generation})
				stop()
				cancel(nil)
				if err != nil {
					g.fail(err)
				}
				owners.Done()
				// Returning would end the generation for all partitions.
				<-revoked.Done()
			})
		}
	}
}
