package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// pauses describes the pauses in force, for display.
func (s *Stage) pauses() (out []health.Trouble) {
	paused, labels := s.labels.Current().Orders.Paused(), s.options.Labels
	const most = 20
	for i, pause := range paused {
		if i == most {
			return append(out, health.Trouble{
				What: fmt.Sprintf("%d more pauses hold", len(paused)-most),
				Do:   "slkstream labels list --labels " + labels + " lists them",
			})
		}
		t := health.Trouble{What: pause.What() + " is paused", Do: "slkstream resume --labels " + labels}
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
func (m *Metrics) Paused() []health.Trouble {
	return m.stage.pauses()
}

// errResumed ends an ownership when a stream resumes whose records were set aside.
var errResumed = errors.New("a stream goes on: the partition is read again from where it was paused")

// aside holds the streams of one partition whose records are read but left unanswered.
type aside struct {
	from map[string]record.Position // the first item of each
	high map[string]time.Time       // the highest event time before that item
}

func (p *partition) orders() *labels.Orders { return p.stage.labels.Current().Orders }

// paused says whether reading the partition is paused. Bounded ranges are not paused, because they must
// reach their end.
func (p *partition) paused() bool {
	return !p.stage.options.Bounded && p.orders().PausesPartition(p.Topic, p.Partition)
}

// leaves says whether an unanswered item is set aside: skipped for good, or until its stream resumes.
func (p *partition) leaves(it *record.Item) bool {
	o := p.orders()
	if o.Skips(it.Source) {
		p.stage.metrics.empty.Add(1, "skipped")
		p.log.Warn("a record is skipped by order", "id", it.ID(), "stream", it.Stream)
		return true
	}
	if _, begun := p.aside.from[it.Stream]; begun {
		return true // even if it has resumed: items set aside come first
	}
	if p.stage.options.Bounded || !o.PausesStream(it.Stream) {
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
		if !o.PausesStream(name) {
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
