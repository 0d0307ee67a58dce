// Package pipeline runs the labelling stage: it reads partitions, gathers episodes, has each stream's
// memory answer them, and commits results, state and offsets. It keeps the guarantees about repeats: see
// partition, and its stations, which have a package each.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/corrections"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/ledger"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

// Stage labels the partitions that its group assigns to it.
type Stage struct {
	options Options
	client  *topic.Client
	stations
	labels  *labels.Topic
	metrics *Metrics
	watch   *health.Watch
	warned  telemetry.Warnings
	store   *store.Store
	claims  // the partitions of this process
	*corrections.Recent
	firstAnswers *first.Process
}

// stations are the settings of those of all partitions.
type stations struct {
	intake  *intake.Settings
	answers answering.Settings
	ledger  ledger.Settings
}

// claims says which partitions this process has, or had last.
type claims struct {
	// revoked holds *partition by topic.TopicPartition: those that the group has revoked, with their memory, until
	// the next assignment. A rebalance revokes all partitions, and most return to the same member. The others
	// are dropped before any is restored, so that they take no memory beside it.
	revoked  sync.Map
	owned    atomic.Int32                            // partitions of this process
	restores chan struct{}                           // one for each running restore; see turn
	ranges   map[topic.TopicPartition]backfill.Range // offsets that a backfill answers; nil: all, without end
}

// New prepares a stage without contacting brokers.
func New(client *topic.Client, o Options) (*Stage, error) {
	o.fill()
	if o.Bounded {
		o.Limits.Idle = 0
	}
	faults := append(o.Limits.Validate(), o.Memory.Validate())
	if o.Limits.Age == 0 && o.Limits.Idle == 0 && !o.Bounded {
		faults = append(
			faults,
			errors.New("episode-age and episode-idle are both off: a quiet stream's last items would never be answered"),
		)
	}
	if o.Group == "" || o.Out == "" || len(o.In) == 0 {
		faults = append(faults, fmt.Errorf("group %q, in %q, out %q: none may be empty", o.Group, o.In, o.Out))
	}
	if o.Delivery == nil {
		faults = append(faults, errors.New("no delivery given"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	s := &Stage{options: o, client: client}
	s.restores = make(chan struct{}, o.Workers)
	memory := budget.New(o.Budget)
	s.options.Memory.Budget = memory
	s.watch = health.NewWatch(s.watched(memory))
	s.metrics = newMetrics(s.watch)
	s.metrics.memoryLimit.Set(float64(o.Budget))
	s.labels = labels.New(labels.Options{
		Client: client, Topic: o.Labels, Dead: o.Dead, Decode: o.Decode, Support: o.Support,
		Most: labels.MostExamples, Shown: s.metrics.labelled, Watch: o.Watch, Log: o.Log,
	})
	s.store = store.New(client, o.Group, o.State, o.Log)
	s.firstAnswers = first.New(first.Settings{
		Client: client, Topic: o.Now, Results: o.Out, Within: o.NowWithin, Labels: s.labels, Most: o.Budget, Log: o.Log,
		Tell: o.AnsweredFirst, Counted: s.metrics.now, Took: s.metrics.nowTook,
	})
	s.intake, s.answers, s.ledger = s.takingIn(), s.answering(memory), s.committing()
	s.Recent = corrections.NewRecent(o.Recent, s.labels, s.options.Memory)
	return s, nil
}

// watched says what of the stage is watched.
func (s *Stage) watched(memory *budget.Budget) health.Settings {
	o := &s.options
	return health.Settings{
		Client: s.client, Group: o.Group, Contact: o.group().Longest(), StallAfter: o.StallAfter, Committed: o.Committed,
		Out: o.Out, Dead: o.Dead, State: o.State, Labels: o.Labels, Identities: o.Identities,
		Others:  []string{o.Now, o.Review, o.Episodes, o.Corrections},
		Schemas: o.Decode.Schemas, Memory: memory.Troubles, Log: o.Log,
	}
}

// takingIn says how records become episodes. What a comparison cannot use has its dead letter already.
func (s *Stage) takingIn() *intake.Settings {
	o, m := &s.options, s.metrics
	settings := &intake.Settings{
		Decode: o.Decode, Limits: o.Limits, Bounded: o.Bounded, Dead: o.Dead, Labels: s.labels, Records: &s.watch.Records,
		Empty: m.empty, Cut: m.cutLetters, Lost: m.lost,
	}
	if o.Compare != nil {
		settings.Dead = ""
	}
	return settings
}

// committing says how and when commits are made.
func (s *Stage) committing() ledger.Settings {
	o := &s.options
	return ledger.Settings{
		Interval: o.CommitInterval, Eager: o.Eager, StateInterval: o.StateInterval, RecoveryTarget: o.RecoveryTarget,
		Workers: o.Workers,
	}
}

// answering says what episodes are answered by, and where results are written.
func (s *Stage) answering(memory *budget.Budget) answering.Settings {
	o := &s.options
	settings := answering.Settings{
		Memory: o.Memory, Labels: s.labels, Budget: memory, Observer: o.Observer, Known: new(answering.Known),
		PutAway: o.PutAway, Moves: s.metrics.away,
		Results: answering.Results{
			Out: o.Out, Dead: o.Dead, Review: o.Review, Episodes: o.Episodes, Form: o.Form, WithVector: o.WithVector,
			Compare: o.Compare, Corrections: o.Corrections,
		},
	}
	if o.Identities != "" {
		settings.Results.Linked = o.Group
	}
	settings.Memory.Judged, settings.Memory.Summaries = o.Episodes != "", o.Identities != ""
	return settings
}

// inFlightMost bounds a partition's unacknowledged bytes: all partitions together an eighth of the budget.
func (s *Stage) inFlightMost() int64 {
	if s.answers.Budget.Limit == 0 {
		return s.options.InFlight
	}
	return min(s.options.InFlight, s.answers.Budget.Limit/8/int64(max(1, s.owned.Load())))
}

// Seat says where the stage is, as no other is: see consumer.GroupSettings. Call it before Run.
func (s *Stage) Seat(seat string) { s.options.Seat = seat }

// Labels returns the labels in force, with their names.
func (s *Stage) Labels() *labels.Topic { return s.labels }

// Linked lists the clusters of all streams that are of an identity; none without Options.Identities.
func (s *Stage) Linked() []labels.Linked {
	if s.options.Identities == "" {
		return nil
	}
	return s.labels.Current().Linked(s.options.Group)
}

// Metrics returns the stage's metrics.
func (s *Stage) Metrics() *Metrics { return s.metrics }

// Run works until ctx ends, drains, and leaves the group. It returns an error only if the stage cannot
// continue at all. It waits for brokers that are away and topics that refuse, and reports them; bad records
// go to the dead letters.
func (s *Stage) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { every(following, time.Second, func(now time.Time) { s.survey(following, now) }) })
	defer func() {
		stop()
		background.Wait()
	}()
	if err := s.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s.answers.Pool = answering.NewPool(s.options.Workers)
	ready, followed := make(chan struct{}), make(chan error, 1)
	s.watch.Start.Begin("reading the labels topic "+s.options.Labels, time.Now())
	go func() {
		err := s.labels.Follow(following, sync.OnceFunc(func() { close(ready) }))
		if err != nil {
			fail(err)
		}
		followed <- err
	}()
	var once sync.Once // for all its workers
	go every(following, min(time.Second, s.options.Watchdog/4), func(time.Time) {
		if j, since := s.answers.Pool.Hung(s.options.Watchdog); j != nil {
			once.Do(func() { fail(s.hangs(j, since)) })
		}
	})
	background.Go(func() { every(following, 250*time.Millisecond, s.guard) })
	defer func() {
		stop()
		<-followed
	}()
	select {
	case <-ready:
	case <-ctx.Done():
	}
	s.watch.Start.Begin("", time.Now())
	var err error
	if ctx.Err() == nil {
		s.watch.Work()
		background.Go(func() { s.link(ctx) })
		err = s.work(ctx)
		s.watch.Stop()
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if !errors.Is(err, intake.ErrHung) {
		s.answers.Pool.Close()
	}
	return err
}

func (s *Stage) work(ctx context.Context) error {
	group := s.options.group()
	group.Rebalanced = func(_ int32, assigned []topic.TopicPartition) {
		s.keepRevoked(assigned)
		s.Recent.Keep(assigned)
		s.owned.Store(int32(len(assigned)))
		s.metrics.rebalances.Add(1)
		s.metrics.partitions.Set(float64(len(assigned)))
		s.watch.Brokers.Joined()
	}
	group.Left = func(err error) {
		s.metrics.partitions.Set(0)
		s.watch.Brokers.Left(err, time.Now())
	}
	group.Missing = func(topics []string) { s.watch.Brokers.Missing(topics, time.Now()) }
	s.watch.Brokers.Left(nil, time.Now())
	return consumer.Work(ctx, s.client, group, s.options.Log, s.own)
}

// own answers one partition while the group assigns it to this process.
func (s *Stage) own(ctx context.Context, a consumer.Assignment) error {
	tp := a.TopicPartition
	progress := s.watch.Partitions.Assign(tp, time.Now())
	defer s.metrics.released(tp)
	defer s.watch.Partitions.Release(tp)
	outage := s.client.Outage(s.options.Log, "taking over "+tp.String())
	for ctx.Err() == nil {
		began := time.Now()
		claimed, err := s.hold(ctx, a, progress, outage)
		switch {
		case err == nil, ctx.Err() != nil:
			if err != nil && (claimed || !errors.Is(err, context.Canceled)) {
				s.options.Log.Warn("partition not handed over in full", "topic", a.Topic, "partition", a.Partition, "error", err)
			}
			return nil
		case errors.Is(err, producer.ErrFenced):
			s.options.Log.Warn("another owner has the partition", "topic", a.Topic, "partition", a.Partition)
			progress.Failed("waiting for the group to give it away", err)
			// The group revokes the partition within a session. Otherwise it still counts on this process.
			_ = topic.Pause(ctx, 2*s.options.group().Longest())
			continue
		}
		progress.Failed("taking over", err)
		if health.Blocked(err) {
			s.warned.Once("blocked "+tp.String(), func(int) {
				s.options.Log.Error(
					"partition not taken over",
					"topic",
					a.Topic,
					"partition",
					a.Partition,
					"error",
					err,
					"do",
					health.Remedy(err),
				)
			})
			_ = topic.Pause(ctx, max(5*time.Second, 10*time.Since(began))) // each try reads all of the state
			continue
		}
		if claimed || !topic.Temporary(err) { // otherwise the coordinator is not ready or a leader moves
			s.metrics.restarts.Add(1)
			s.warned.Once("restart "+tp.String(), func(times int) {
				s.options.Log.Error("partition starts again from what is committed", "topic", a.Topic, "partition", a.Partition,
					"times", times, "error", err)
			})
		}
		if outage.Wait(ctx, err) != nil {
			return nil
		}
	}
	return nil
}

// hold is one ownership from claim to hand-over; claimed says whether the claim succeeded. Only an
// acknowledged answer ends an outage: a partition that can be claimed but not answered is claimed again
// with growing delays.
func (s *Stage) hold(
	ctx context.Context, a consumer.Assignment, progress *health.Partition, outage *topic.Outage,
) (claimed bool, err error) {
	p, reader, decoder, err := s.claim(ctx, a, progress)
	if err != nil {
		return false, err
	}
	defer p.abandon()
	p.afterCommit = outage.Over
	s.metrics.size(p)
	limit := s.options.HandOver
	err = p.run(ctx, reader, decoder, s.end(a))
	if err != nil && !p.handed {
		p.abandon()
		limit = 2 * time.Second
	}
	if !p.leave(s.options.HandOver) {
		return true, errors.Join(err, fmt.Errorf("%s: a commit does not end", p.TopicPartition))
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = errors.Join(err, p.ledger.Close(closing))
	if err == nil && errors.Is(context.Cause(ctx), consumer.ErrRevoked) {
		p.handedOver()
	}
	return true, err
}

// leave waits until no commit is in flight. A worker may still be busy with an episode of the partition; its
// result is discarded.
func (p *partition) leave(limit time.Duration) bool {
	if !p.ledger.Sending() {
		return true
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-p.ledger.Done():
		return true
	case <-deadline.C:
		return false
	}
}

// survey looks at what the stage does and at what keeps it from its work: for metrics and for the log.
func (s *Stage) survey(ctx context.Context, now time.Time) {
	s.watch.Ask(ctx, now, func(ctx context.Context) { s.store.Check(ctx, s.largest) })
	s.metrics.progress(now)
	s.watch.Report(now)
}

// every calls do with the time until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(now time.Time)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			do(now)
		}
	}
}

// hangs notes an episode that does not end for the next owner, and returns the error. Heartbeats continue
// without the worker, so the group would never notice.
func (s *Stage) hangs(j *answering.Job, since time.Duration) error {
	if j.Episode != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := j.Owner().State.NoteHung(ctx, j.Stream.Key, j.Episode.First()); err != nil {
			s.options.Log.Error("an episode that does not end cannot be recorded: the next owner will try it again", "error", err)
		}
	}
	return fmt.Errorf("stream %q of %s: %w, after %v", j.Stream.Key.Name, j.Stream.At, intake.ErrHung,
		since.Round(time.Millisecond))
}
