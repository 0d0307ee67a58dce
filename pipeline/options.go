package pipeline

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/identity"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Options configure a stage, in the groups of the settings page. A zero value means the default where one is
// stated.
type Options struct {
	Topics
	Records
	Answers
	Commits
	Process
	Member
	Job
}

// Topics are those that a stage works with, and its group.
type Topics struct {
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
	Identities  string // topic of clusters, which are linked over all streams; "": none. It needs Labels
}

// Records say how records are read and written.
type Records struct {
	Decode     record.Options
	Limits     consumer.Limits   // of episodes
	Form       record.ResultForm // of results; the zero value is ResultJSON
	WithVector bool              // results carry their items' vectors
	FetchBytes int               // of one fetch, default 1 MiB
	Committed  bool              // skip records of open or aborted transactions
}

// Answers say how streams answer, what they keep, and who sees it.
type Answers struct {
	Memory  stream.Settings
	Support []taught.Example // in force from the start, for every stream
	// NowWithin is how long after an item is read a first answer is of use; later ones are left out. A commit, and the end of a
	// partition, wait half as long at most for a broker that takes one. Default 2 s.
	NowWithin  time.Duration
	StateTTL   time.Duration // event time without an item after which a stream is evicted; 0: never
	PutAway    time.Duration // time in which nothing comes from a stream after which it waits in the state topic; 0: never
	MaxStreams int           // of a partition; beyond, those of least worth are evicted; default 20,000
	// MostIdentities bounds the things that are known over all streams; default 10,000.
	MostIdentities int
	// Transit is what is known of the ways between streams, in milliseconds; nil: nothing.
	Transit identity.Transit
	Recent  *recent.Store // keeps the last answered items; nil: not kept

	Observer answering.Observer // nil: none
	// AnsweredFirst gets first answers when they are acknowledged, from several goroutines, in order within a
	// stream. It must not keep the stage waiting, nor keep the list; nil: not called.
	AnsweredFirst func([]first.Answer)
	// Traced gets each episode whose results are acknowledged, from several goroutines; nil: not called.
	Traced func(*answering.Trace)
}

// Commits say how and when results, state and offsets are written.
type Commits struct {
	Delivery producer.Delivery
	// Eager writes results as soon as they are ready, before the commit that covers them: at least once.
	// Without it a commit is written as a whole.
	Eager          bool
	CommitInterval time.Duration // default 100 ms
	StateInterval  time.Duration // default 10 s
	DrainTimeout   time.Duration // default 10 s
	DrainOpen      bool          // answer open episodes at a stop
	HandOver       time.Duration // default a third of the group's shorter timeout
	// RecoveryTarget bounds how long a new owner may take to replay what no snapshot covers, default 10 s. Where
	// it would take longer, more state is written than its usual share of the results' bytes.
	RecoveryTarget time.Duration
}

// Process says what the process may take, and when it counts as stuck.
type Process struct {
	Workers    int           // default: one a core
	InFlight   int64         // bytes of closed episodes a partition may have unacknowledged, default 32 MiB
	Budget     int64         // bytes the process may use; 0: no bound
	StallAfter time.Duration // for a partition with input but no progress to count as stuck; default 45 s
	Watchdog   time.Duration // an episode that takes longer than this is a fault, default 2 minutes
	Log        *slog.Logger
}

// Member says how the process takes part in its group; see consumer.GroupSettings.
type Member struct {
	Instance, Seat            string
	Session, Rebalance, Watch time.Duration
	Advertise                 string            // address to which others redirect requests for streams owned here
	Agree                     map[string]string // settings in which the processes of the group must agree
}

// Job says what a backfill does otherwise than a stage that runs until it is stopped.
type Job struct {
	// Bounded marks an input that ends, as a backfill's does: silence closes no episode, the end closes the open
	// ones.
	Bounded bool
	// Compare makes a backfill write corrections instead of results; nil: results.
	Compare *backfill.Comparison
	// FromState is another group's state topic. A stream that has no state of its own starts from the one there.
	FromState string
}

func (o *Options) fill() {
	o.Dead, o.State = cmp.Or(o.Dead, o.Out+"-dead"), cmp.Or(o.State, o.Group+"-state")
	o.CommitInterval = cmp.Or(o.CommitInterval, 100*time.Millisecond)
	o.StateInterval = cmp.Or(o.StateInterval, 10*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 10*time.Second)
	o.Watchdog = cmp.Or(o.Watchdog, 2*time.Minute)
	o.StallAfter = cmp.Or(o.StallAfter, 45*time.Second)
	o.RecoveryTarget = cmp.Or(o.RecoveryTarget, 10*time.Second)
	o.NowWithin = cmp.Or(o.NowWithin, 2*time.Second)
	o.HandOver = cmp.Or(o.HandOver, o.group().HandOver())
	o.MaxStreams = cmp.Or(o.MaxStreams, 20_000)
	o.MostIdentities = cmp.Or(o.MostIdentities, 10_000)
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
		ID: o.Group, Topics: o.In, Instance: o.Instance, Seat: o.Seat, Session: o.Session, Rebalance: o.Rebalance, Watch: o.Watch,
		Advertise: o.Advertise, Out: o.Out, State: o.State, Agree: o.Agree,
	}
}
