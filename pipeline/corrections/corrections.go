package corrections

import (
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// correcting brings a partition's recent items up to a version of the labels, one change after the other.
type correcting struct {
	to      *labels.Version
	changes []labels.Change    // not applied yet
	first   *recent.Correction // of the first of them; nil: not begun
	blocks  []*recent.Block    // of the beginning: those of items answered meanwhile may know less
	named   bool               // names were given or taken back
	// readAgain is set if items of previous owners were read again, whose labels may have changed since.
	readAgain bool
}

// correctFor bounds the time that a partition's owner spends on corrections before it does other work.
const correctFor = 20 * time.Millisecond

// correct corrects recent items for labels that changed after they were answered. Items whose name was forgotten
// are dropped. It returns whether work remains.
func (r *Partition) correct(now *labels.Version) (more bool) {
	r.takeEarlier(now)
	if r.correcting == nil {
		from, readAgain := r.calledBy(now), r.earlier != nil && r.earlier.readAgain
		if from == nil && !readAgain {
			return false
		}
		r.forgetNames(now) // first, as a forgotten example's items are no longer called so afterwards
		r.correcting = &correcting{to: now, readAgain: readAgain, blocks: r.recent.Blocks()}
		if readAgain {
			r.earlier.readAgain = false
		}
		if from != nil && r.settings.Corrections != "" {
			changes, known := r.settings.Labels.Changes(from, now)
			if !known {
				r.log.Warn("labels changed too long ago for recent items to be corrected", "since", from, "now", now.Next)
			}
			r.correcting.changes = changes
		}
	}
	c := r.correcting
	for begin := time.Now(); len(c.changes) > 0; {
		if time.Since(begin) > correctFor {
			return true
		}
		change := &c.changes[0]
		if change.IsName() {
			c.named = true
		} else if r.apply(c, change) {
			continue
		}
		c.changes, c.first = c.changes[1:], nil
	}
	r.rename(c)
	for _, b := range c.blocks {
		if c.to.Behind(b.Labels) > 0 {
			b.Labels = c.to.Next
		}
	}
	r.correcting = nil
	return false
}

// calledBy returns the oldest version of the labels among the blocks of recent items; nil: all are
// up to date.
func (r *Partition) calledBy(now *labels.Version) (oldest labels.Position) {
	behind := int64(0)
	for _, b := range r.recent.Blocks() {
		if n := now.Behind(b.Labels); n > behind {
			oldest, behind = b.Labels, n
		}
	}
	return oldest
}

// apply makes some of the corrections of the first change that is left, and returns whether more are left.
func (r *Partition) apply(c *correcting, change *labels.Change) (more bool) {
	to := c.to
	of := recent.Change{
		ID: change.By.Key, Gone: change.By.With != "", Named: to.Name,
		Knows: func(b *recent.Block) bool { return to.Knew(b.Labels, change.By) },
	}
	kind := "forgotten"
	if change.By.Not != nil { // the rejection replaces an example
		kind = "rejected"
	}
	if e := change.Now.Example; e != nil {
		kind = "taught"
		of.Label, of.Stream, of.Model, of.Vector = e.Label, change.Now.Stream, e.Model, e.Vector
	}
	by := func(*recent.Corrected) *labels.Record { return change.By }
	if c.first == nil {
		c.first = r.recent.Correction(of)
	}
	items, more := c.first.Next(to.Examples())
	r.tellCorrections(items, to, kind, by)
	if slices.ContainsFunc(items, func(c recent.Corrected) bool { return c.Label == "" }) {
		r.recent.DropForgotten()
	}
	return more
}

// forgetNames drops the recent items whose class or name was forgotten after they were answered.
func (r *Partition) forgetNames(to *labels.Version) {
	if since := r.calledBy(to); since == nil || !to.ForgetsSince(since) {
		return
	}
	gone := r.recent.Forget(func(b *recent.Block, in string, classes ...string) bool {
		return to.Forgot(b.Labels, in, classes...) != nil
	})
	r.tellCorrections(gone, to, "forgotten", func(item *recent.Corrected) *labels.Record {
		return to.Forgot(nil, item.Stream, item.Class, item.Was)
	})
}

// rename makes the corrections that follow from names given or taken back.
func (r *Partition) rename(c *correcting) {
	if !c.named && !c.readAgain {
		return
	}
	r.tellCorrections(r.recent.Rename(c.to.Name), c.to, "renamed", func(item *recent.Corrected) *labels.Record {
		return r.settings.Labels.Naming(c.to, item.Stream, item.Class)
	})
}

// tellCorrections makes records of corrections. by returns the record that caused each.
func (r *Partition) tellCorrections(
	items []recent.Corrected, to *labels.Version, kind string, by func(*recent.Corrected) *labels.Record,
) {
	if r.settings.Corrections == "" {
		return
	}
	asOf := to.Header()
	for i := range items {
		item := &items[i]
		cause := by(item)
		correction := record.Correction{
			ID: item.ID, Old: record.Called{Label: item.Was, Confidence: item.WasConfidence},
			New:      record.Called{Label: item.Label, Confidence: item.Confidence},
			Cause:    record.Cause{Kind: kind, ID: cause.Key, By: cause.By},
			Revision: to.Next.Revision(), Time: cause.Written,
		}
		if item.Label != "" && item.Class != item.Label {
			correction.New.Class = item.Class
		}
		r.records = append(r.records, correction.Out(r.settings.Corrections, item.Key, asOf...))
	}
	r.settings.Counted.Add(float64(len(items)), kind)
}
