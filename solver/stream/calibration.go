package stream

import (
	"context"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
)

// heldOutKept bounds the held-out answers remembered; the newest stay.
const heldOutKept = 512

// testedAtOnce bounds the examples from the labels topic that are tried as unlabelled points in one episode.
const testedAtOnce = 16

// calibration is what tells how far the stream's confidence can be trusted: its answers to labelled items
// before their labels counted for anything.
type calibration struct {
	answers []heldOut       // oldest first
	tested  map[uint64]bool // the stream's own part of the labels topic, as it was followed last
}

// heldOut is what the stream would have said of a labelled item without the item's label.
type heldOut struct {
	id       string
	label    string  // the item's
	answered string  // the stream's
	z        float32 // confidence before calibration
	distance float32 // unknown score
	topic    bool    // the item came over the labels topic
}

// follow takes over what the labels topic corrects or takes back.
func (c *calibration) follow(labels *followedLabels) {
	if len(c.answers) == 0 {
		return
	}
	answers := make([]heldOut, 0, len(c.answers))
	for _, a := range c.answers {
		label, known := labels.label(a.id)
		if labels.forgotten(a.id) || a.topic && !known {
			continue
		}
		if known {
			a.label = label
		}
		answers = append(answers, a)
	}
	c.answers = answers
}

func (c *calibration) observe(e *answered) {
	if e.solved == nil {
		return
	}
	before := doubtful(c.score())
	c.answers = append(c.answers, e.tested...)
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
		r.note("of the last %d items that a person labelled %d were answered right: the stream looks unlike its labels; teach it some of its own items", r.Labelled, r.LabelledRight)
	}
	c.tested = map[uint64]bool{}
	for i := range e.problem.force {
		if f := &e.problem.force[i]; f.own {
			c.tested[f.sum] = true
		}
	}
}

// A stream that answers fewer than half of the items right that people labelled says so, once it knows of
// doubtfulAfter of them: at once, and then in each doubtfulEvery-th episode.
const (
	doubtfulAfter  = 20
	doubtfulNewest = 100
	doubtfulEvery  = 10
)

func doubtful(right, all int) bool { return all >= doubtfulAfter && 2*right < all }

// score counts the right ones among the newest held-out answers.
func (c *calibration) score() (right, all int) {
	for _, a := range c.answers[max(0, len(c.answers)-doubtfulNewest):] {
		if all++; a.answered == a.label {
			right++
		}
	}
	return right, all
}

func (c *calibration) reset(class string) bool {
	c.answers = slices.DeleteFunc(c.answers, func(a heldOut) bool { return a.label == class })
	return false
}

func (c *calibration) encode(e *encoder) {
	for _, a := range c.answers {
		e.head.group(fieldVerdict, func(w *writer) {
			w.text(fieldID, a.id)
			w.text(fieldLabel, a.label)
			w.text(fieldAnswered, a.answered)
			w.vector(fieldZ, []float32{a.z})
			w.vector(fieldDistance, []float32{a.distance})
			if a.topic {
				w.integer(fieldTopic, 1)
			}
		})
	}
	for _, sum := range slices.Sorted(maps.Keys(c.tested)) {
		e.head.integer(fieldTopic, int64(sum))
	}
}

func (c *calibration) decode(f *field) {
	switch {
	case f.is("head", fieldTopic):
		if c.tested == nil {
			c.tested = map[uint64]bool{}
		}
		c.tested[uint64(f.integer())] = true
	case f.is("head", fieldVerdict):
		var a heldOut
		f.group(a.decode)
		c.answers = append(c.answers, a)
	}
}

func (a *heldOut) decode(r *reader) {
	one := func() float32 {
		if x := r.vector(1); x != nil {
			return x[0]
		}
		return 0
	}
	for number := r.next(); number != 0; number = r.next() {
		switch number {
		case fieldID:
			a.id = r.text()
		case fieldLabel:
			a.label = r.text()
		case fieldAnswered:
			a.answered = r.text()
		case fieldZ:
			a.z = one()
		case fieldDistance:
			a.distance = one()
		case fieldTopic:
			a.topic = r.integer() != 0
		}
	}
}

// leaveOut solves the episode once more with the labels of its taught items hidden, and with the newest
// examples of the labels topic as unlabelled points of it. What it answers there is what calibration may
// learn from. Items of classes that nothing else labels are left out: no answer could be right.
func (s *Stream) leaveOut(ctx context.Context, e *Engine, items []Item) ([]heldOut, error) {
	p := &e.problem
	hidden := make([]int, 0, len(items))
	for i := range items {
		if items[i].Label != "" {
			hidden = append(hidden, i)
		}
	}
	fresh := s.calibration.untested(p)
	if len(hidden)+len(fresh) == 0 {
		return nil, nil
	}
	anchored := make([]bool, p.K)
	trial := p.Problem
	trial.Unjudged = true
	trial.Labels = slices.Clone(p.labels)
	for _, i := range hidden {
		trial.Labels[i] = -1
	}
	if len(fresh) > 0 {
		trial.AnchorLabels = nil
		var anchors [][]float32
		trial.Each = slices.Clone(p.each[:p.N])
		for j := range p.force {
			if slices.Contains(fresh, j) {
				trial.Each = append(trial.Each, p.force[j].vector)
				trial.Labels = append(trial.Labels, -1)
				trial.N++
				continue
			}
			anchors = append(anchors, p.force[j].vector)
			trial.AnchorLabels = append(trial.AnchorLabels, p.classes[j])
		}
		trial.Each = append(trial.Each, anchors...)
	}
	for _, c := range trial.AnchorLabels {
		anchored[c] = true
	}
	if !slices.Contains(anchored, true) {
		return nil, nil
	}
	trial.BeforeGraph = s.trialRelation(p, &trial, items)
	r, err := e.labelled.Solve(ctx, &trial)
	if err != nil {
		return nil, err
	}
	scores := unknownScores(&trial, r, p.nobody())
	var out []heldOut
	add := func(row int, id, label string, topic bool) {
		if c, ok := p.numbers[label]; ok && anchored[c] && id != "" {
			out = append(out, heldOut{id: id, label: label, answered: p.names[r.Labels[row]], z: r.Confidence[row], distance: float32(scores[row]), topic: topic})
		}
	}
	for _, i := range hidden {
		add(i, itemID(items, i, s.episode+1), items[i].Label, false)
	}
	for j, f := range fresh {
		add(p.N+j, p.force[f].id, p.force[f].label, true)
	}
	return out, nil
}

// untested lists the stream's own examples on the labels topic that the last episode did not know.
func (c *calibration) untested(p *problem) []int {
	var out []int
	for j := range p.force {
		if p.force[j].own && !c.tested[p.force[j].sum] && len(out) < testedAtOnce {
			out = append(out, j)
		}
	}
	return out
}

// added tells whether all that is new on the labels topic, which the last episode knew by the sum topic, are
// examples of the stream's own that this episode tests.
func (c *calibration) added(p *problem, topic uint64) bool {
	for _, j := range c.untested(p) {
		topic += p.force[j].sum
	}
	return topic == p.sum
}

// confidenceFit is sigmoid(a logit z + b).
type confidenceFit struct {
	a, b   float64
	fitted bool
}

// enoughHeldOut is how many leave-one-out answers a confidence must rest on before it is called calibrated.
const enoughHeldOut = 10

// fit fits the confidence to the held-out answers, damped towards leaving z as it is: a handful of answers moves
// it little. With fewer than enoughHeldOut it is not called fitted, and where early is false not used at all.
func (c *calibration) fit(early bool) confidenceFit {
	enough := len(c.answers) >= enoughHeldOut
	if !enough && !early {
		return confidenceFit{a: 1}
	}
	a, b := logistic.Fit(len(c.answers), func(i int) (float64, bool) {
		v := &c.answers[i]
		return logit(float64(v.z)), v.answered == v.label
	}, 1, 25)
	return confidenceFit{a, b, enough}
}

func (f confidenceFit) confidence(z float64) float64 { return logistic.Sigmoid(f.a*logit(z) + f.b) }

func logit(z float64) float64 { return logistic.Logit(z, .005) }
