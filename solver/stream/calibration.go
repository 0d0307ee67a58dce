package stream

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// heldOutKept bounds the held-out answers kept, the newest.
const heldOutKept = 512

// testedAtOnce bounds the examples of the labels topic that one episode answers as unlabelled points.
const testedAtOnce = 16

// calibration holds the stream's answers to labelled items, given without their labels. They show how far its
// confidence can be trusted.
type calibration struct {
	answers []heldOut       // oldest first
	tested  map[uint64]bool // sums of the stream's own examples on the labels topic when that last changed
}

// heldOut is the stream's answer to a labelled item, given without the item's label.
type heldOut struct {
	id        string
	label     string  // the item's
	predicted string  // the stream's
	z         float32 // confidence before calibration
	score     float32 // unknown score; 0: an older version kept none
	topic     bool    // the item is an example of the labels topic
	alone     bool    // no other item of its class is labelled: no answer could be right
}

// follow applies the labels topic's corrections and drops answers to items that it withdraws.
func (c *calibration) follow(labels *taught.ForStream) {
	if len(c.answers) == 0 {
		return
	}
	answers := make([]heldOut, 0, len(c.answers))
	for _, a := range c.answers {
		label, known := labels.Label(a.id)
		if labels.Forgotten(a.id) || a.topic && !known {
			continue
		}
		if known {
			a.label = label
		}
		answers = append(answers, a)
	}
	c.answers = answers
}

func (c *calibration) observe(e *episode) {
	if e.solved == nil {
		return
	}
	before := doubtful(c.score())
	c.answers = append(c.answers, e.fair()...)
	if over := len(c.answers) - heldOutKept; over > 0 {
		c.answers = slices.Delete(c.answers, 0, over)
	}
	r := e.report
	r.LabelledRight, r.Labelled = c.score()
	if r.Doubtful = doubtful(r.LabelledRight, r.Labelled); r.Doubtful != before {
		kind := "trusted"
		if r.Doubtful {
			kind = "doubtful"
		}
		r.Events = append(r.Events, Event{Kind: kind})
	}
	if r.Doubtful && (!before || e.number%doubtfulEvery == 0) {
		r.note(
			"of the last %d items that a person labelled %d were answered right: the stream looks unlike its labels; teach it some of its own items",
			r.Labelled,
			r.LabelledRight,
		)
	}
	if !e.relabels && c.tested != nil {
		return
	}
	c.tested = map[uint64]bool{}
	for _, x := range e.problem.sets[0].Entries {
		c.tested[x.Sum] = true
	}
}

// A stream is doubtful if fewer than half of its newest held-out answers are right, of at least
// enough. It is reported at once, and again in each doubtfulEvery-th episode.
const (
	doubtfulNewest = 100
	doubtfulEvery  = 10
)

func doubtful(right, all int) bool { return all >= enough && 2*right < all }

// score counts the right answers among the doubtfulNewest newest held-out ones.
func (c *calibration) score() (right, all int) {
	for _, a := range c.answers[max(0, len(c.answers)-doubtfulNewest):] {
		if all++; a.predicted == a.label {
			right++
		}
	}
	return right, all
}

// scores lists the unknown scores of the held-out answers to items of known classes, ascending.
func (c *calibration) scores() (scores []float32) {
	for _, a := range c.answers {
		if a.score > 0 && a.label != Nobody {
			scores = append(scores, a.score)
		}
	}
	slices.Sort(scores)
	return scores
}

func (c *calibration) detach() { c.answers = slices.Clone(c.answers) }

func (c *calibration) reset(class string) bool {
	c.answers = slices.DeleteFunc(c.answers, func(a heldOut) bool { return a.label == class })
	return false
}

func (c *calibration) fields(f *fields) {
	if f.kind != "head" {
		return
	}
	list(f, fieldVerdict, &c.answers, func(f *fields, field int, a *heldOut) { f.group(field, a.fields) })
	tested := slices.Sorted(maps.Keys(c.tested))
	list(f, fieldTopic, &tested, integer[uint64])
	if !f.writes && len(tested) > 0 {
		c.tested = map[uint64]bool{}
		for _, sum := range tested {
			c.tested[sum] = true
		}
	}
}

func (a *heldOut) fields(f *fields) {
	text(f, fieldID, &a.id)
	text(f, fieldLabel, &a.label)
	text(f, fieldPredicted, &a.predicted)
	number(f, fieldZ, &a.z)
	number(f, fieldScore, &a.score)
	flag(f, fieldTopic, &a.topic)
}

func (c *calibration) contribute(e *episode) { c.follow(e.problem.taught) }

// untested lists the stream's own examples on the labels topic that are new since the last episode and take
// part in this one, in the order of their ids, at most testedAtOnce.
func (c *calibration) untested(p *problem) (out []*taught.Entry) {
	for e := range p.taught.Own.All() {
		if _, seen := p.sets[0].Row(e); seen && !c.tested[e.Sum] && len(out) < testedAtOnce {
			out = append(out, e)
		}
	}
	return out
}

// added reports whether the labels topic has changed since the last episode only by examples of the stream's
// own that this episode tests. topic is the topic's sum at the last episode.
func (c *calibration) added(p *problem, topic uint64) bool {
	for _, e := range c.untested(p) {
		topic += e.Sum
	}
	return topic == p.sum
}

// fitted reports whether enough items were answered before their label came for the confidence to rest on them.
func (c *calibration) fitted() bool { return len(c.answers) >= enough }
