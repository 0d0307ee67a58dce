package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
)

// given is the latest record of an order's key; order is nil if it was cancelled.
type given struct {
	at    time.Time // the record's timestamp
	order *record.Order
}

// orders holds the pauses and skipped records in force. nil means none. It is immutable.
type orders struct {
	paused     []*record.Order // by key
	all        bool
	partitions map[topic.TopicPartition]bool // topic "": every input
	streams    map[string]bool
	skipped    map[record.Source]bool
}

// mostOrders bounds the orders kept; the oldest skipped records are dropped first.
const mostOrders = 10_000

// order adds an order, or with nil cancels the one of the key.
func (l *labelRecords) order(key string, at time.Time, o *record.Order) {
	if o != nil {
		key = o.Key()
	}
	if before, known := l.given[key]; known && before.at.After(at) {
		return // of several partitions the latest counts
	}
	l.given[key], l.orders = given{at, o}, nil
	if len(l.given) > mostOrders {
		l.dropOrders()
	}
}

// dropOrders drops cancelled orders, and if these were few the older half of the skipped records.
func (l *labelRecords) dropOrders() {
	maps.DeleteFunc(l.given, func(_ string, g given) bool { return g.order == nil })
	if len(l.given) <= mostOrders {
		return
	}
	var skipped []string
	for key, g := range l.given {
		if g.order.Skip != "" {
			skipped = append(skipped, key)
		}
	}
	slices.SortFunc(skipped, func(a, b string) int {
		return cmp.Or(l.given[a].at.Compare(l.given[b].at), cmp.Compare(a, b))
	})
	for _, key := range skipped[:(len(skipped)+1)/2] {
		delete(l.given, key)
	}
}

// standing returns the orders in force; nil: none.
func (l *labelRecords) standing() *orders {
	if l.orders != nil || len(l.given) == 0 {
		return l.orders
	}
	l.orders = &orders{
		partitions: map[topic.TopicPartition]bool{}, streams: map[string]bool{},
		skipped: map[record.Source]bool{},
	}
	for _, key := range slices.Sorted(maps.Keys(l.given)) {
		o := l.given[key].order
		switch {
		case o == nil:
			continue
		case o.Skip != "":
			if source, ok := record.ParseID(o.Skip); ok {
				l.orders.skipped[source] = true
			}
			continue
		case o.Partition != nil:
			l.orders.partitions[topic.TopicPartition{Topic: o.Topic, Partition: *o.Partition}] = true
		case o.Stream != "":
			l.orders.streams[o.Stream] = true
		default:
			l.orders.all = true
		}
		l.orders.paused = append(l.orders.paused, o)
	}
	return l.orders
}

// pauses says whether reading a partition is paused.
func (o *orders) pauses(name string, number int32) bool {
	return o != nil && (o.all || o.partitions[topic.TopicPartition{Partition: number}] ||
		o.partitions[topic.TopicPartition{Topic: name, Partition: number}])
}

func (o *orders) pausesStream(name string) bool { return o != nil && o.streams[name] }

func (o *orders) skips(s record.Source) bool {
	if o == nil || len(o.skipped) == 0 {
		return false
	}
	if o.skipped[s] {
		return true
	}
	s.Object = -1
	return o.skipped[s]
}

// list describes the pauses, for display.
func (o *orders) list(labels string) (out []Trouble) {
	if o == nil {
		return nil
	}
	const most = 20
	for i, pause := range o.paused {
		if i == most {
			return append(out, Trouble{
				What: fmt.Sprintf("%d more pauses hold", len(o.paused)-most),
				Do:   "slkstream labels list --labels " + labels + " lists them",
			})
		}
		t := Trouble{What: pause.What() + " is paused", Do: "slkstream resume --labels " + labels}
		if pause.By != "" {
			t.Cause = "by " + pause.By
		}
		if !pause.At.IsZero() {
			t.Cause = strings.TrimPrefix(t.Cause+" since "+pause.At.UTC().Format(time.RFC3339), " ")
		}
		switch {
		case pause.Partition != nil:
			t.Do += fmt.Sprintf(" --partition %d", *pause.Partition)
			if pause.Topic != "" {
				t.Do += " --in " + pause.Topic
			}
		case pause.Stream != "":
			t.Do += fmt.Sprintf(" --stream %q", pause.Stream)
		}
		out = append(out, t)
	}
	return out
}

// Paused lists the pauses in force.
func (m *Metrics) Paused() []Trouble {
	return m.stage.labels.current.Load().orders.list(m.stage.options.Labels)
}

// errResumed ends an ownership when a stream resumes whose records were set aside.
var errResumed = errors.New("a stream goes on: the partition is read again from where it was paused")

// aside holds the streams of one partition whose records are read but left unanswered.
type aside struct {
	from map[string]record.Position // the first item of each
	high map[string]time.Time       // the highest event time before that item
}

func (p *partition) orders() *orders { return p.stage.labels.current.Load().orders }

// paused says whether reading the partition is paused. Bounded ranges are not paused, because they must
// reach their end.
func (p *partition) paused() bool {
	return !p.stage.options.Bounded && p.orders().pauses(p.Topic, p.Partition)
}

// leaves says whether an unanswered item is set aside: skipped for good, or until its stream resumes.
func (p *partition) leaves(it *record.Item) bool {
	o := p.orders()
	if o.skips(it.Source) {
		p.stage.metrics.empty.Add(1, "skipped")
		p.log.Warn("a record is skipped, as was ordered", "id", it.ID(), "stream", it.Stream)
		return true
	}
	if _, begun := p.aside.from[it.Stream]; begun {
		return true // even if it has resumed: items set aside come first
	}
	if p.stage.options.Bounded || !o.pausesStream(it.Stream) {
		return false
	}
	if p.aside.from == nil {
		p.aside = aside{map[string]record.Position{}, map[string]time.Time{}}
	}
	p.aside.from[it.Stream], p.aside.high[it.Stream] = it.Source.Position(), p.buffer.High()
	return true
}

// resumed says whether a stream with items set aside has resumed.
func (p *partition) resumed() bool {
	o := p.orders()
	for name := range p.aside.from {
		if !o.pausesStream(name) {
			return true
		}
	}
	return false
}

// lower moves a restart to before the items set aside.
func (a *aside) lower(r *state.Journal) {
	for name, from := range a.from {
		lowerTo(r, from, a.high[name])
	}
}

// endReplay ends a replay that has filled the partition. Only commits make room, and a replay makes none,
// while a paused stream may hold any number of items.
func (p *partition) endReplay() {
	if p.full() && p.jobs == 0 && !p.caughtUp() {
		p.replay.decided = p.position
	}
}
