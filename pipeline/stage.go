// Package pipeline runs the labelling stage: it reads partitions, gathers episodes, has each stream's
// memory answer them, and commits results, state and offsets. It keeps the guarantees about repeats: see
// partition, and internal/state.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// Options configure a stage. A zero value means the default where one is stated.
type Options struct {
	Group    string
	In       []string
	Out      string
	Dead     string // default OUT-dead
	State    string // default GROUP-state
	Labels   string // "": none
	Episodes string // "": none
	Review   string // "": none
	// Corrections is the topic for new names of recent items after labels have changed; "": none, and recent
	// items keep their names unless those are forgotten.
	Corrections string
	Now         string // topic of first answers, given when items are read; "": none

	Delivery producer.Delivery
	// Eager writes results as soon as they are ready, before the commit that covers them: at least once.
	// Without it a commit is written as a whole.
	Eager          bool
	Committed      bool          // skip records of open or aborted transactions
	CommitInterval time.Duration // default 100 ms
	StateInterval  time.Duration // default 10 s
	DrainTimeout   time.Duration // default 10 s
	DrainOpen      bool          // answer open episodes at a stop
	NowWithin      time.Duration // from reading an item; its first answer is left out if later; default 2 s
	StateTTL       time.Duration // event time without an item after which a stream is evicted; 0: never
	MaxStreams     int           // of a partition; beyond, those of least worth are evicted; default 20,000
	HandOver       time.Duration // default a third of the group's shorter timeout
	Recent         *recent.Store // keeps the last answered items; nil: not kept

	Form       record.ResultForm // of results; the zero value is ResultJSON
	WithVector bool              // results carry their items' vectors

	Limits  consumer.Limits
	Decode  record.Options
	Memory  stream.Settings
	Support []stream.Example // in force from the start, for every stream

	Workers    int   // default: one a core
	InFlight   int64 // bytes of closed episodes a partition may have unacknowledged, default 32 MiB
	Budget     int64 // bytes the process may use; 0: no bound
	FetchBytes int   // of one fetch, default 1 MiB
	// RecoveryTarget bounds how long a new owner may take to replay what no snapshot covers, default 30 s. Where
	// it would take longer, more state is written than its usual share of the results' bytes.
	RecoveryTarget time.Duration
	StallAfter     time.Duration // for a partition with input but no progress to count as stuck; default 45 s
	Watchdog       time.Duration // an episode that takes longer than this is a fault, default 2 minutes

	Session, Rebalance, Watch time.Duration // see consumer.GroupSettings
	Advertise                 string        // address to which others redirect requests for streams owned here
	// Agree holds the settings in which the processes of the group must agree; see consumer.GroupSettings.
	Agree map[string]string

	// Bounded marks an input that ends, as a backfill's does: silence closes no episode, the end closes the open
	// ones.
	Bounded bool
	// Compare makes a backfill write corrections instead of results; nil: results.
	Compare *Comparison
	// FromState is another group's state topic. A stream that has no state of its own starts from the one there.
	FromState string

	Observer Observer // nil: none
	// AnsweredFirst gets first answers when they are acknowledged, from several goroutines, in order within a
	// stream. It must not keep the stage waiting, nor keep the list; nil: not called.
	AnsweredFirst func([]FirstAnswer)
	// Traced gets each episode whose results are acknowledged, from several goroutines; nil: not called.
	Traced func(*Trace)
	Log    *slog.Logger
}

// Observer sees each answered episode. It is called from several goroutines, in order within a stream. It
// must not block, nor change its argument.
type Observer interface {
	Answered(*Answered)
}

// Answered is an episode with its answers.
type Answered struct {
	Episode *consumer.Episode
	Results []record.Result
	Reviews []record.Review // items whose labels would teach most; vectors and attributes are shared
	Report  stream.Report
	Solved  *solver.Result // the solve itself, valid during the call only
	Labels  *stream.Labels // in force when it was answered
	Unknown int
	Took    time.Duration
}

func (o *Options) fill() {
	o.Dead, o.State = cmp.Or(o.Dead, o.Out+"-dead"), cmp.Or(o.State, o.Group+"-state")
	o.CommitInterval = cmp.Or(o.CommitInterval, 100*time.Millisecond)
	o.StateInterval = cmp.Or(o.StateInterval, 10*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 10*time.Second)
	o.Watchdog = cmp.Or(o.Watchdog, 2*time.Minute)
	o.StallAfter = cmp.Or(o.StallAfter, 45*time.Second)
	o.RecoveryTarget = cmp.Or(o.RecoveryTarget, 30*time.Second)
	o.NowWithin = cmp.Or(o.NowWithin, 2*time.Second)
	o.HandOver = cmp.Or(o.HandOver, o.group().HandOver())
	o.MaxStreams = cmp.Or(o.MaxStreams, 20_000)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.InFlight = cmp.Or(o.InFlight, 32<<20)
	o.FetchBytes = cmp.Or(o.FetchBytes, 1<<20)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Form.Append == nil {
		o.Form = record.ResultJSON()
	}
}

func (o *Options) group() consumer.GroupSettings {
	return consumer.GroupSettings{
		ID: o.Group, Topics: o.In, Session: o.Session, Rebalance: o.Rebalance, Watch: o.Watch,
		Advertise: o.Advertise, Out: o.Out, Agree: o.Agree,
	}
}

// Stage labels the partitions that its group assigns to it.
type Stage struct {
	options    Options
	client     *topic.Client
	log        *slog.Logger
	pool       *pool
	labels     *labels.Topic
	metrics    *Metrics
	partitions health.Partitions
	start      health.Start
	brokers    health.Brokers
	streams    health.Streams
	records    health.Records
	letters    letters
	// revoked holds *partition by topic.TopicPartition: those that the group has revoked, with their memory, until
	// the next assignment. A rebalance revokes all partitions, and most return to the same member. The others
	// are dropped before any is restored, so that they take no memory beside it.
	revoked    sync.Map
	owned      atomic.Int32  // partitions of this process
	restores   chan struct{} // one for each running restore; see turn
	firsts     firstMemory
	grouped    grouped
	remembered sync.Map // *liveStream by key: those of the owned partitions, for other goroutines than their own
	warned     telemetry.Warnings
	queried    time.Time    // when survey last asked the brokers
	stateID    topic.ID     // of the state topic at the last check
	statesMade atomic.Int64 // how often the state topic's ID has changed
	memory     *budget
	ranges     map[topic.TopicPartition]Range // offsets that a backfill answers; nil: all, without end
}

// ErrHung is returned when a solve does not end. The process must exit so that others take its partitions.
var ErrHung = errors.New("an episode does not end")

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
	s := &Stage{options: o, client: client, log: o.Log, metrics: newMetrics(), restores: make(chan struct{}, o.Workers)}
	s.memory = newBudget(o.Budget)
	s.options.Memory.Budget = s.memory
	s.firsts.most = nowMemory
	if o.Budget > 0 {
		s.firsts.most = int(min(nowMemory, o.Budget/8))
	}
	s.metrics.memoryLimit.Set(float64(o.Budget))
	s.metrics.stage = s
	s.start.Limit = o.StallAfter
	s.brokers.Group, s.brokers.Limit = o.Group, o.group().Longest()
	s.labels = labels.New(labels.Options{
		Client: client, Topic: o.Labels, Dead: o.Dead, Decode: o.Decode, Support: o.Support,
		Most: labels.MostExamples, Shown: s.metrics.labelled, Watch: o.Watch, Log: o.Log,
	})
	return s, nil
}

// inFlightMost bounds a partition's unacknowledged bytes: all partitions together an eighth of the budget.
func (s *Stage) inFlightMost() int64 {
	if s.memory.limit == 0 {
		return s.options.InFlight
	}
	return min(s.options.InFlight, s.memory.limit/8/int64(max(1, s.owned.Load())))
}

// Labels returns the labels in force, with their names.
func (s *Stage) Labels() *labels.Topic { return s.labels }

// Metrics returns the stage's metrics.
func (s *Stage) Metrics() *Metrics { return s.metrics }

// Run works until ctx ends, drains, and leaves the group. It returns an error only if the stage cannot
// continue at all. It waits for brokers that are away and topics that refuse, and reports them; bad records
// go to the dead letters.
func (s *Stage) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { every(following, time.Second, func(now time.Time) { s.survey(following, now) }) })
	defer func() {
		stop()
		beside.Wait()
	}()
	if err := s.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s.options.Memory.Judged = s.options.Episodes != ""
	s.pool = newPool(s.options.Workers)
	ready, followed := make(chan struct{}), make(chan error, 1)
	s.start.Begin("reading the labels topic "+s.options.Labels, time.Now())
	go func() {
		err := s.labels.Follow(following, sync.OnceFunc(func() { close(ready) }))
		if err != nil {
			fail(err)
		}
		followed <- err
	}()
	var once sync.Once // for all its workers
	go every(following, min(time.Second, s.options.Watchdog/4), func(time.Time) {
		if j, since := s.pool.hung(s.options.Watchdog); j != nil {
			once.Do(func() { fail(s.hangs(j, since)) })
		}
	})
	beside.Go(func() { every(following, 250*time.Millisecond, s.guard) })
	defer func() {
		stop()
		<-followed
	}()
	select {
	case <-ready:
	case <-ctx.Done():
	}
	s.start.Begin("", time.Now())
	var err error
	if ctx.Err() == nil {
		s.metrics.ready.Store(true)
		err = s.work(ctx)
		s.metrics.stopping.Store(true)
		s.metrics.ready.Store(false)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if !errors.Is(err, ErrHung) {
		s.pool.close()
	}
	return err
}

func (s *Stage) work(ctx context.Context) error {
	group := s.options.group()
	group.Rebalanced = func(_ int32, assigned []topic.TopicPartition) {
		s.keepRevoked(assigned)
		s.keepRecent(assigned)
		s.owned.Store(int32(len(assigned)))
		s.metrics.rebalances.Add(1)
		s.metrics.partitions.Set(float64(len(assigned)))
		s.brokers.Joined()
	}
	group.Left = func(err error) {
		s.metrics.partitions.Set(0)
		s.brokers.Left(err, time.Now())
	}
	group.Missing = func(topics []string) { s.brokers.Missing(topics, time.Now()) }
	s.brokers.Left(nil, time.Now())
	return consumer.Work(ctx, s.client, group, s.log, s.own)
}

// own answers one partition while the group assigns it to this process.
func (s *Stage) own(ctx context.Context, a consumer.Assignment) error {
	tp := a.TopicPartition
	progress := s.partitions.Assign(tp, time.Now())
	defer s.metrics.released(tp)
	defer s.partitions.Release(tp)
	outage := s.client.Outage(s.log, "taking over "+tp.String())
	for ctx.Err() == nil {
		began := time.Now()
		claimed, err := s.hold(ctx, a, progress, outage)
		switch {
		case err == nil, ctx.Err() != nil:
			if err != nil && (claimed || !errors.Is(err, context.Canceled)) {
				s.log.Warn("partition not handed over in full", "topic", a.Topic, "partition", a.Partition, "error", err)
			}
			return nil
		case errors.Is(err, producer.ErrFenced):
			s.log.Warn("another owner has the partition", "topic", a.Topic, "partition", a.Partition)
			progress.Failed("waiting for the group to give it away", err)
			// The group revokes the partition within a session. Otherwise it still counts on this process.
			_ = topic.Pause(ctx, 2*s.options.group().Longest())
			continue
		}
		progress.Failed("taking over", err)
		if errors.Is(err, state.ErrBlocked) {
			s.warned.Once("blocked "+tp.String(), func(int) {
				s.log.Error("partition not taken over", "topic", a.Topic, "partition", a.Partition, "error", err, "do", health.Remedy(err))
			})
			_ = topic.Pause(ctx, max(5*time.Second, 10*time.Since(began))) // each try reads all of the state
			continue
		}
		if claimed || !topic.Temporary(err) { // otherwise the coordinator is not ready or a leader moves
			s.metrics.restarts.Add(1)
			s.warned.Once("restart "+tp.String(), func(times int) {
				s.log.Error(
					"partition starts again from what is committed",
					"topic",
					a.Topic,
					"partition",
					a.Partition,
					"times",
					times,
					"error",
					err,
				)
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
	p.works = outage.Over
	s.metrics.size(p)
	limit := s.options.HandOver
	if p.first, err = p.answerAtOnce(ctx); err == nil {
		p.announce() // from here on other goroutines use the streams, and read p.first
		err = p.run(ctx, reader, decoder, s.end(a))
	}
	if err != nil && !p.handed {
		p.abandon()
		limit = 2 * time.Second
	}
	if !p.leave(s.options.HandOver) {
		return true, errors.Join(err, fmt.Errorf("%s: a commit does not end", p.TopicPartition))
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = errors.Join(err, p.ledger.commits.committer.Close(closing))
	if err == nil && errors.Is(context.Cause(ctx), consumer.ErrRevoked) {
		p.handedOver()
	}
	return true, err
}

// leave waits until no commit is in flight. A worker may still be busy with an episode of the partition; its
// result is discarded.
func (p *partition) leave(limit time.Duration) bool {
	if p.ledger.commits.sending == nil {
		return true
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-p.ledger.commits.result:
		return true
	case <-deadline.C:
		return false
	}
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
func (s *Stage) hangs(j *job, since time.Duration) error {
	s.noteHung(j)
	return fmt.Errorf("stream %q of %s: %w, after %v", j.stream.key.Name, j.stream.at, ErrHung,
		since.Round(time.Millisecond))
}
