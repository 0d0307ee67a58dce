package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// correcting brings a partition's recent items up to a version of the labels, one change after the other.
type correcting struct {
	to      *view
	changes []labelChange  // not applied yet
	names   []*labelRecord // records that give or take back a name
	// recalled is set if items of previous owners were read again, whose labels may have changed since.
	recalled bool
}

// namePrefix begins the keys of names.
var namePrefix = record.NameKey("", "")

// labelChange is a key on which two versions of the labels differ.
type labelChange struct {
	by  *labelRecord // the record that made the change
	now scoped       // in force now; its example is nil if there is none
}

// changes lists the differences between two versions, in the order of the records that caused them. It
// returns false if the process no longer holds those records.
func (l *labels) changes(from []int64, to *view) ([]labelChange, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.records == nil || !l.records.reaches(from) {
		return nil, false
	}
	var out []labelChange
	for key := range l.records.changed(from, to.next) {
		before, now := l.records.holds(key, from), l.records.holds(key, to.next)
		if now == nil || before == now {
			continue
		}
		out = append(out, labelChange{now, l.records.inForce(to, key)})
	}
	slices.SortFunc(out, func(a, b labelChange) int { return a.by.before(b.by) })
	return out, true
}

// correctFor bounds the time that a partition's owner spends on corrections before it does other work.
const correctFor = 20 * time.Millisecond

// correct corrects recent items for labels that changed after they were answered. The corrections go into the
// next commit. Items whose name was forgotten are dropped. It returns whether work remains.
func (p *partition) correct() (more bool) {
	if p.recent == nil || !p.caughtUp() {
		return false
	}
	now := p.stage.labels.current.Load()
	if p.correcting == nil {
		from, recalled := p.calledBy(now), p.earlier != nil && p.earlier.recalled
		if from == nil && !recalled {
			return false
		}
		p.correcting = &correcting{to: now, recalled: recalled}
		if recalled {
			p.earlier.recalled = false
		}
		if from != nil && p.stage.options.Corrections != "" {
			changes, known := p.stage.labels.changes(from, now)
			if !known {
				p.log.Warn("labels changed too long ago for recent items to be corrected", "since", from, "now", now.next)
			}
			p.correcting.changes = changes
		}
	}
	c := p.correcting
	for begin := time.Now(); len(c.changes) > 0; c.changes = c.changes[1:] {
		if time.Since(begin) > correctFor {
			return true
		}
		if change := &c.changes[0]; strings.HasPrefix(change.by.key, namePrefix) {
			c.names = append(c.names, change.by)
		} else {
			p.apply(change, c.to)
		}
	}
	p.forgetNames(c.to)
	p.rename(c)
	for _, b := range p.recent.Blocks() {
		if position(c.to.since(b.Labels)) < position(c.to.next) {
			b.Labels = c.to.next
		}
	}
	p.correcting = nil
	return false
}

// calledBy returns the oldest version of the labels among the blocks of recent items; nil: all are
// up to date.
func (p *partition) calledBy(now *view) (oldest []int64) {
	for _, b := range p.recent.Blocks() {
		from := now.since(b.Labels)
		if position(from) < position(now.next) && (oldest == nil || position(from) < position(oldest)) {
			oldest = from
		}
	}
	return oldest
}

// apply makes the corrections of one change.
func (p *partition) apply(change *labelChange, to *view) {
	c := recent.Change{ID: change.by.key, Named: to.naming.names.Of, Knows: func(b *recent.Block) bool {
		return offsetOf(to.since(b.Labels), change.by.partition) > change.by.offset
	}}
	kind := "forgotten"
	if change.by.not != nil { // the rejection replaces an example
		kind = "rejected"
	}
	if e := change.now.example; e != nil {
		kind = "taught"
		c.Label, c.Stream, c.Model, c.Vector = e.Label, change.now.stream, e.Model, e.Vector
	}
	by := func(*recent.Corrected) *labelRecord { return change.by }
	p.tellCorrections(p.recent.Correct(c, to.nearer), to, kind, by)
}

// forgetNames drops the recent items whose names were forgotten after they were answered.
func (p *partition) forgetNames(to *view) {
	since := p.calledBy(to)
	if since == nil {
		return
	}
	for name, f := range to.naming.forgotten {
		if offsetOf(since, f.partition) > f.offset {
			continue
		}
		gone := p.recent.Forget(func(b *recent.Block, stream, class string) bool {
			if offsetOf(to.since(b.Labels), f.partition) > f.offset {
				return false
			}
			for called := range to.naming.given.Chain(stream, class) {
				if called == name {
					return true
				}
			}
			return false
		})
		p.tellCorrections(gone, to, "forgotten", func(*recent.Corrected) *labelRecord { return f })
	}
}

// rename makes the corrections that follow from names given or taken back.
func (p *partition) rename(c *correcting) {
	if len(c.names) == 0 && !c.recalled {
		return
	}
	items := p.recent.Rename(c.to.naming.names.Of)
	l := p.stage.labels
	p.tellCorrections(items, c.to, "renamed", func(item *recent.Corrected) *labelRecord {
		for _, by := range c.names {
			if by.name != nil && by.name.Name == item.Was {
				return by
			}
		}
		if len(c.names) > 0 {
			return c.names[len(c.names)-1] // the end of a chain of names, or a name taken back
		}
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.records.naming(c.to, item.Stream, item.Was, item.Label)
	})
}

// tellCorrections adds corrections to the next commit. by returns the record that caused each.
func (p *partition) tellCorrections(
	items []recent.Corrected, to *view, kind string, by func(*recent.Corrected) *labelRecord,
) {
	if p.stage.options.Corrections == "" {
		return
	}
	for i := range items {
		item := &items[i]
		cause := by(item)
		correction := record.Correction{
			ID: item.ID, Old: record.Called{Label: item.Was, Confidence: item.WasConfidence},
			New:      record.Called{Label: item.Label, Confidence: item.Confidence},
			Cause:    record.Cause{Kind: kind, ID: cause.key, By: cause.by},
			Revision: position(to.next), Time: cause.at,
		}
		out := correction.Out(p.stage.options.Corrections, item.Key)
		p.commits.next.records = append(p.commits.next.records, out)
	}
	p.stage.metrics.corrections.Add(float64(len(items)), kind)
}

// nearerExample says whether an example with another ID lies within a squared distance of an
// item's unit vector.
func nearerExample(labels *stream.Labels, id string, it *recent.Item, unit []float32, within float64) bool {
	for of, e := range labels.All() {
		if (of == "" || of == it.Stream) && e.ID != id && (e.Model == "" || e.Model == it.Model) &&
			recent.Within(unit, e.Vector, within) {
			return true
		}
	}
	return false
}
