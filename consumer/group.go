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
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// ErrRevoked is the cause of the end of a partition's context when the group revokes the partition.
var ErrRevoked = errors.New("the group has taken the partition back")

// Assignment is a partition that the group has assigned to this process, for one generation.
type Assignment struct {
	topic.TopicPartition
	Generation *topic.Generation
}

// GroupSettings configure membership of a group. A zero value means the default where one is stated.
type GroupSettings struct {
	ID     string
	Topics []string
	// Instance is this process's group.instance.id: the group keeps its place for a Session when it stops, so that one with
	// the same id that starts meanwhile goes on without a rebalance. "": a process that stops leaves its place.
	Instance string
	// Seat is what no two live processes have at once, such as an address that this one listens at: a member of the same seat
	// has died, and leaves the group at once rather than after its Session. "": none, and with an Instance it is not needed.
	Seat string
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
	g.member = newMember(client, &g.settings)
	for ctx.Err() == nil {
		layout := g.counts(ctx)
		if len(layout) == 0 {
			s.Left(g.unable())
			g.pause(ctx)
			continue
		}
		g.join(ctx, layout)
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
	member   *member
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
func (g *membership) join(ctx context.Context, layout map[string]int) {
	s := &g.settings
	stopping := ctx
	ctx, leave := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		g.changed(ctx, layout)
		leave(ErrRevoked)
	}()
	leaves := s.Instance == ""
	defer func() {
		leave(nil)
		<-watched
		if !leaves {
			return // its place is kept for a session
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(stopping), leaving)
		defer cancel()
		g.member.leave(limited)
	}()
	outage := g.client.Outage(g.log, "joining group "+s.ID)
	for {
		var incomplete bool
		generation, assigned, err := g.member.join(ctx, slices.Sorted(maps.Keys(layout)),
			func(ctx context.Context, members []kafka.GroupMember) (divided assignments, err error) {
				divided, incomplete, err = g.divide(ctx, members)
				return divided, err
			})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if !g.again(ctx, outage, err) {
				return
			}
			continue
		}
		outage.Over()
		if incomplete { // this member leads and has assigned an incomplete set of topics
			g.log.Warn("an input topic was missing when partitions were given out: the group begins again",
				"group", s.ID, "generation", generation.ID)
		}
		if incomplete || !g.take(ctx, generation, assigned) {
			leaves = true
			g.pause(ctx)
			return
		}
	}
}

// again waits before the next try to join, after an error of the last one. It is false if ctx has ended.
func (g *membership) again(ctx context.Context, outage *topic.Outage, err error) bool {
	switch {
	case errors.Is(err, kafka.RebalanceInProgress): // another member joined or left meanwhile
		return true
	case errors.Is(err, kafka.FencedInstanceID):
		g.fenced(ctx)
		return true
	}
	if g.settings.Instance == "" {
		g.member.leave(ctx)
	}
	g.member.id = ""
	if with := g.foreign("", g.group(ctx)); with != nil { // brokers differ in what they answer then
		err = with
		g.tell(err)
	}
	g.settings.Left(err)
	return outage.Wait(ctx, err) == nil
}

// take works in a generation until it ends. It is false if this process must not take part because of other members.
func (g *membership) take(ctx context.Context, generation *topic.Generation, assigned []topic.TopicPartition) bool {
	s := &g.settings
	g.log.Info("partitions assigned", "group", s.ID, "generation", generation.ID, "partitions", len(assigned))
	described := g.group(ctx)
	with := g.foreign(generation.MemberID, described) // the brokers divide the input among all
	others, differs := g.differing(generation.MemberID, described)
	if with == nil && len(assigned) > 0 { // the group has kept its place for other settings
		with = differs
	}
	if with != nil {
		g.tell(with)
		s.Left(with)
		return false
	}
	for _, other := range others {
		g.log.Error("another process of the group gets no partitions: it has other settings", "group", s.ID, "process", other)
	}
	g.member.owned.set(generation.ID, assigned)
	s.Rebalanced(generation.ID, assigned)
	if differs != nil {
		g.tell(differs)
		s.Left(differs)
	} else {
		g.told = ""
	}
	g.work(ctx, generation, assigned)
	return true
}

// work has the partitions of a generation owned until it or ctx ends, and all are released.
func (g *membership) work(ctx context.Context, generation *topic.Generation, assigned []topic.TopicPartition) {
	mine, revoke := context.WithCancelCause(ctx)
	defer revoke(nil)
	var beating, owners sync.WaitGroup
	still, stop := context.WithCancel(context.WithoutCancel(ctx)) // a stop releases the partitions first
	beating.Go(func() {
		if err := g.member.beat(still, generation); err != nil {
			g.log.Debug("the generation has ended", "group", g.settings.ID, "generation", generation.ID, "reason", err)
			revoke(ErrRevoked)
		}
	})
	for _, position := range assigned {
		owners.Go(func() {
			if err := g.own(mine, Assignment{position, generation}); err != nil {
				g.fail(err)
			}
		})
	}
	<-mine.Done()
	if ctx.Err() == nil {
		g.settings.Left(nil)
	}
	owners.Wait()
	stop()
	beating.Wait()
}

// divide gives out the partitions of the topics that members want. incomplete: a topic is missing, and the generation
// would have no partition of it until the next rebalance.
func (g *membership) divide(ctx context.Context, members []kafka.GroupMember) (all assignments, incomplete bool, err error) {
	var partitions []kafka.Partition
	known := map[string]bool{}
	for _, m := range members {
		for _, name := range m.Topics {
			if known[name] {
				continue
			}
			known[name] = true
			n, err := g.client.Partitions(ctx, name)
			if err != nil && !topic.IsMissing(err) {
				return nil, false, err
			}
			incomplete = incomplete || err != nil
			for id := range n {
				partitions = append(partitions, kafka.Partition{Topic: name, ID: id})
			}
		}
	}
	return assign(members, partitions), incomplete, nil
}

// fenced waits while another process has this one's instance id, and tells of it: taking its place again would take the
// partitions from that one, and so on.
func (g *membership) fenced(ctx context.Context) {
	for g.member.id = ""; ctx.Err() == nil; g.pause(ctx) {
		with, err := g.member.twin(ctx)
		switch {
		case err != nil:
			g.settings.Left(err)
		case with == nil:
			return
		default:
			g.tell(with)
			g.settings.Left(with)
		}
	}
}
