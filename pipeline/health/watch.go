package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
)

// Watch knows what keeps a stage from its work, from what the stage notes and from what brokers answer.
type Watch struct {
	Partitions Partitions
	Start      Start
	Brokers    Brokers
	Streams    Streams
	Records    Records

	settings Settings
	topics   topicSettings
	asked    time.Time // when Ask last asked the brokers
	logged   telemetry.Warnings
	working  atomic.Bool // the labels are read, and it takes part in its group
	stopping atomic.Bool
}

// Settings of a watch.
type Settings struct {
	Client     *topic.Client
	Group      string
	Contact    time.Duration // without contact to the group or a broker after which it is reported
	StallAfter time.Duration // for a partition with input but no progress to count as stuck
	Committed  bool          // records of open transactions are not read

	Out, Dead, State, Labels string
	Identities               string           // "": none
	Others                   []string         // topics that it writes besides; "": none
	Schemas                  any              // of records; may know that it waits for a registry
	Memory                   func() []Trouble // of the process
	Log                      *slog.Logger
}

// NewWatch prepares a watch.
func NewWatch(s Settings) *Watch {
	w := &Watch{settings: s}
	w.Start.Limit = s.StallAfter
	w.Brokers.Group, w.Brokers.Limit = s.Group, s.Contact
	w.topics.neighbours = consumer.Neighbours{Client: s.Client, Group: s.Group, Out: s.Out, State: s.State}
	return w
}

// Work notes that the stage is at work.
func (w *Watch) Work() { w.working.Store(true) }

// Stop notes that the stage stops: from now on nothing keeps it from its work.
func (w *Watch) Stop() {
	w.stopping.Store(true)
	w.working.Store(false)
}

// Ask asks the brokers what they know of the stage's topics, if it is time to. reached is called in between, once they
// have said where the inputs end.
func (w *Watch) Ask(ctx context.Context, now time.Time, reached func(context.Context)) {
	const apart = 4500 * time.Millisecond // between queries of the brokers: every fifth tick
	if now.Sub(w.asked) < apart {
		return
	}
	w.asked = now
	w.askEnds(ctx, reached)
	w.askProducers(ctx, now)
	if w.Partitions.All() != nil {
		w.askSettings(ctx, now)
	}
}

// Report logs what keeps the stage from its work, each kind of trouble once a minute while it lasts.
func (w *Watch) Report(now time.Time) {
	kinds := map[string]int{}
	list := w.all(now)
	for _, t := range list {
		kinds[t.Of]++
	}
	for _, t := range list { // of each kind the first
		w.logged.Once(t.Of, func(int) {
			w.settings.Log.Error(t.What, append(t.about(), "of_its_kind", kinds[t.Of])...)
		})
	}
	for _, t := range w.beside() {
		w.logged.Once(t.What, func(int) { w.settings.Log.Warn(t.What, t.about()...) })
	}
}

// CutOff returns for how long the stage has been without brokers, or has waited to begin; 0 below the limits.
func (w *Watch) CutOff(now time.Time) time.Duration {
	lasting, _ := w.Brokers.CutOff(now)
	return max(lasting, w.Start.Lasting(now))
}

// askEnds asks for the ends of the partitions, so that lag is known even of those that cannot be read, and
// whether the input topics were created again.
func (w *Watch) askEnds(ctx context.Context, reached func(context.Context)) {
	client := w.settings.Client
	owned := w.Partitions.All()
	if len(owned) == 0 {
		return
	}
	partitions := make([]topic.TopicPartition, len(owned))
	for i, p := range owned {
		partitions[i] = p.TopicPartition
	}
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stable, err := client.Ends(limited, partitions, w.settings.Committed)
	ends := stable
	if err == nil && w.settings.Committed {
		ends, err = client.Ends(limited, partitions, false)
	}
	if ctx.Err() != nil {
		return
	}
	w.Brokers.Asked(err, begin)
	if err != nil {
		return
	}
	reached(limited)
	ids := map[string]topic.ID{}
	now := time.Now()
	for _, p := range owned {
		id, asked := ids[p.Topic]
		if !asked {
			id, _ = client.ID(limited, p.Topic) // a missing topic has the zero ID and is waited for
			ids[p.Topic] = id
		}
		p.Exists(id)
		end, known := ends[p.TopicPartition]
		decided, also := stable[p.TopicPartition]
		if known && also {
			p.Ends(decided, max(end-decided, 0), now)
		}
	}
}

// askProducers finds the producers of the transactions that records wait for.
func (w *Watch) askProducers(ctx context.Context, now time.Time) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Second) // for all of them: Ask waits for this call
	defer cancel()
	for _, p := range w.Partitions.All() {
		offset, asked, open := p.OpenSince(now, w.settings.StallAfter)
		if !open || asked {
			continue
		}
		if limited.Err() != nil {
			return // the next call asks for the rest
		}
		if id, err := w.settings.Client.ProducerAt(limited, p.TopicPartition, offset); err == nil {
			p.Producer(offset, id)
		}
	}
}

// all lists the faults that stop the stage's work now.
func (w *Watch) all(now time.Time) (list []Trouble) {
	stallAfter := w.settings.StallAfter
	list = append(w.Start.Troubles(now), w.Brokers.Troubles(now)...)
	if found := w.Partitions.Stuck(now, stallAfter); len(found) > 0 {
		doing, cause := w.failing(found[0])
		found[0].Doing = doing
		for i, one := range found {
			t := Trouble{Of: OfPartition, What: one.String(), Do: Remedy(cause)}
			if i == 0 && cause != nil {
				t.Cause = cause.Error()
			}
			list = append(list, t)
		}
	}
	list = append(list, w.Partitions.Transactions(now, stallAfter)...)
	list = append(list, w.settings.Memory()...)
	list = append(list, w.topics.troubles()...)
	embeddings, _ := w.Streams.Troubles(now)
	list = append(list, embeddings...)
	if err := w.labelsUnread(now); err != nil {
		t := Trouble{
			Of:    OfLabels,
			What:  "the labels topic " + w.settings.Labels + " cannot be read on",
			Cause: err.Error(),
			Do: "see that its brokers can read it and that READ on it is allowed, or make it again: it is read from " +
				"its start then",
		}
		if w.working.Load() {
			t.What += ", and the labels read before stay in force"
		}
		if open := (*topic.Undecided)(nil); errors.As(err, &open) {
			t.Do = Remedy(err)
		}
		list = append(list, t)
	}
	return append(list, w.Records.Troubles(now, stallAfter)...)
}

// labelsUnread returns why the labels topic cannot be read now; nil: it can be, or soon may be, or no topic can.
func (w *Watch) labelsUnread(now time.Time) error {
	f := w.settings.Client.Failing(topic.TopicPartition{}, w.settings.Labels)
	lasting, _ := w.Brokers.CutOff(now)
	if lasting > 0 || topic.CauseOf(f.Err) != topic.Denied && now.Sub(f.Since) < w.settings.StallAfter {
		return nil
	}
	return f.Err
}

// failing returns the operation that a stuck partition waits for, and the error that blocks it;
// nil: none known.
func (w *Watch) failing(one Stuck) (doing string, cause error) {
	s := &w.settings
	if waits, ok := s.Schemas.(interface{ Waiting() error }); ok && one.Doing == "reading" {
		if err := waits.Waiting(); err != nil {
			return "waiting for the schema registry", err
		}
	}
	f := s.Client.Failing(one.TopicPartition, s.Out, s.Dead, s.State)
	if f.Err == nil {
		return one.Doing, one.Cause
	}
	return f.What, f.Err
}

// Troubles lists the faults that stop the stage's work now; none while it stops.
func (w *Watch) Troubles() []Trouble {
	if w.stopping.Load() {
		return nil
	}
	return w.all(time.Now())
}

// Doubts lists streams that recently answered fewer than half of their labelled items right. The stage still
// answers them, but the answers may be useless. It also lists streams whose embedding changed, if most
// streams of their input are unchanged, and what is beside the stage and can lose data: inputs, clocks.
func (w *Watch) Doubts() []Trouble {
	_, doubts := w.Streams.Troubles(time.Now())
	return append(doubts, w.beside()...)
}

// beside lists doubts about what is not the stage's own: settings of inputs, and the clocks.
func (w *Watch) beside() []Trouble {
	list := slices.Clip(w.topics.doubts())
	if ahead, known := w.settings.Client.Skew(); known && ahead.Abs() > topic.ToleratedSkew {
		how := "ahead of"
		if ahead < 0 {
			how = "behind"
		}
		list = append(list, Trouble{
			What:  fmt.Sprintf("this machine's clock is %v %s the brokers'", ahead.Abs().Round(time.Minute), how),
			Cause: "they refuse records with its time; those carry their time until it is set",
			Do:    "set the clock of this machine, or the brokers'",
		})
	}
	return list
}

// Ready returns "" if the labels are read, the stage takes part in its group, no partition is stuck and some
// of the input can be used; otherwise the reasons why not and what to do, one a line.
func (w *Watch) Ready() string {
	var reasons []string
	for _, t := range w.Troubles() {
		if t.Cause != "" {
			t.What += ": " + t.Cause
		}
		if t.Do != "" {
			t.What += "; what to do: " + t.Do
		}
		reasons = append(reasons, t.What)
	}
	if len(reasons) == 0 && !w.working.Load() {
		return "not at work yet, or stopping: the log says what it waits for"
	}
	return strings.Join(reasons, "\n")
}
