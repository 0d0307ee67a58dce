package stream

import (
	"context"
	"math"
	"slices"
)

// verdictsKept bounds the leave-one-out answers remembered; the newest stay.
const verdictsKept = 512

// testedAtOnce bounds the examples from the labels topic that are tried as unlabelled points in one episode.
const testedAtOnce = 16

// verdict is what the stream would have said of a labelled item, before the item's label counted for anything.
type verdict struct {
	id       string
	label    string  // the item's
	answered string  // the stream's
	z        float32 // confidence before calibration
	distance float32 // unknown score
	topic    bool    // the item came over the labels topic
}

// leaveOut solves the episode once more with the labels of its taught items hidden, and with the newest examples of the
// labels topic as unlabelled points of it. What it answers there is what calibration may learn from. Items of classes that
// nothing else labels are left out: no answer could be right.
func (s *Stream) leaveOut(ctx context.Context, e *Engine, items []Item) ([]verdict, error) {
	p := &e.problem
	hidden := make([]int, 0, len(items))
	for i := range items {
		if items[i].Label != "" {
			hidden = append(hidden, i)
		}
	}
	fresh := s.freshExamples(p)
	if len(hidden)+len(fresh) == 0 {
		return nil, nil
	}
	anchored := make([]bool, p.K)
	trial := p.Problem
	trial.Labels = slices.Clone(p.labels)
	for _, i := range hidden {
		trial.Labels[i] = -1
	}
	if len(fresh) > 0 {
		trial.Rows = slices.Clone(p.rows)
		trial.Anchors, trial.AnchorLabels = nil, nil
		for j := range p.force {
			if slices.Contains(fresh, j) {
				trial.Rows = append(trial.Rows, p.force[j].vector...)
				trial.Labels = append(trial.Labels, -1)
				trial.N++
				continue
			}
			trial.Anchors = append(trial.Anchors, p.force[j].vector...)
			trial.AnchorLabels = append(trial.AnchorLabels, p.classes[j])
		}
	}
	for _, c := range trial.AnchorLabels {
		anchored[c] = true
	}
	if !slices.Contains(anchored, true) {
		return nil, nil
	}
	r, err := e.labelled.Solve(ctx, &trial)
	if err != nil {
		return nil, err
	}
	scores := novelty(&trial, r)
	var out []verdict
	add := func(row int, id, label string, topic bool) {
		if c, ok := p.numbers[label]; ok && anchored[c] && id != "" {
			out = append(out, verdict{id: id, label: label, answered: p.names[r.Labels[row]], z: r.Confidence[row], distance: float32(scores[row]), topic: topic})
		}
	}
	for _, i := range hidden {
		add(i, s.idOf(items, i), items[i].Label, false)
	}
	for j, f := range fresh {
		add(p.N+j, p.force[f].id, p.force[f].label, true)
	}
	return out, nil
}

// freshExamples lists the stream's own examples on the labels topic that the last episode did not know.
func (s *Stream) freshExamples(p *problem) []int {
	var out []int
	for j := range p.force {
		if p.force[j].review && !s.topic[p.force[j].sum] && len(out) < testedAtOnce {
			out = append(out, j)
		}
	}
	return out
}

// rememberTopic notes which of the stream's own examples were in force.
func (s *Stream) rememberTopic(p *problem) {
	topic := map[uint64]bool{}
	for j := range p.force {
		if p.force[j].review {
			topic[p.force[j].sum] = true
		}
	}
	s.topic = topic
}

// fit is sigmoid(a logit z + b).
type fit struct {
	a, b   float64
	fitted bool
}

// enoughVerdicts is how many leave-one-out answers a confidence must rest on before it is called calibrated.
const enoughVerdicts = 10

// calibration fits the confidence to the verdicts, damped towards leaving z as it is: a handful of answers moves it little.
func (s *Stream) calibration() fit {
	f := fit{a: 1}
	if len(s.verdicts) < enoughVerdicts {
		return f
	}
	const ridge = 1
	for range 25 {
		// One Newton step of the damped log loss in (a, b).
		ga, gb := ridge*(f.a-1), ridge*f.b
		haa, hab, hbb := float64(ridge), 0., float64(ridge)
		for i := range s.verdicts {
			v := &s.verdicts[i]
			x := logit(float64(v.z))
			q := sigmoid(f.a*x + f.b)
			y := 0.
			if v.answered == v.label {
				y = 1
			}
			w := q * (1 - q)
			ga += (q - y) * x
			gb += q - y
			haa += w * x * x
			hab += w * x
			hbb += w
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		f.a -= da
		f.b -= db
		if math.Abs(da)+math.Abs(db) < 1e-9 {
			break
		}
	}
	f.a = max(f.a, 0) // a higher z never means less
	f.fitted = true
	return f
}

func (f fit) confidence(z float64) float64 { return sigmoid(f.a*logit(z) + f.b) }

// logit keeps away from 0 and 1, where one wrong answer would outweigh all others.
func logit(z float64) float64 {
	z = min(max(z, .005), .995)
	return math.Log(z / (1 - z))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
