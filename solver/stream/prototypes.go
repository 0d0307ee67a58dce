package stream

import (
	"maps"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
)

// An answer is learned from at a confidence z of at least gateConfidence and an agreement with the
// prototypes of the labelled items alone of at least gateAgreement. No learned prototype weighs more than
// mostMass items, and none of a class with fewer than fewLabels labelled items outlives the first label that
// comes after the first episode: a class that rests on one or two may have been named wrong all along.
const (
	gateConfidence = .5
	gateAgreement  = .4
	mostMass       = 50
	fewLabels      = 3
)

// prototypes are the means m' of what was answered for each class, in z-space: the warm start.
type prototypes struct {
	of     map[string]*prototype
	closed bool // labels came after the first episode: no class gets a learned prototype from then on
}

type prototype struct {
	mean []float32 // nil before the first admitted item
	mass float64   // n'
}

func (p *prototypes) mass(class string) float64 {
	if k := p.of[class]; k != nil {
		return k.mass
	}
	return 0
}

// stop turns learned prototypes off for good: labels came after the start, and a prototype drawn from the
// stream's own answers only holds back what a person now says better.
func (p *prototypes) stop() { p.of, p.closed = nil, true }

// confirm is what labels that come after the start do to the learned prototypes of a stream with an order:
// those of classes with few labels end, and so do both that are concerned where a label is not what the
// stream would have said. The one has taken in what is not its own, the other has missed it. All others go
// on.
func (p *prototypes) confirm(e *answered) {
	p.closed = true
	for c, name := range e.problem.names {
		if e.problem.labelCounts[c] < fewLabels {
			delete(p.of, name)
		}
	}
	for _, t := range e.tested {
		if t.answered != t.label {
			delete(p.of, t.answered)
			delete(p.of, t.label)
		}
	}
}

// observe moves the prototypes. Only answers that pass the gate move one: learning from every answer ruins a
// stream whose classes do not repeat.
func (p *prototypes) observe(e *answered) {
	if e.solved != nil {
		p.learn(e, admit(e))
		maps.DeleteFunc(p.of, func(name string, _ *prototype) bool { return !e.problem.labelled(name) })
	}
	if !e.taughtLater() {
		return
	}
	if e.stream.settings.Time && e.solved != nil {
		p.confirm(e)
	} else {
		p.stop()
	}
}

// admit returns S of the items to be learned from, zeros for the others, and counts them in the report.
func admit(e *answered) []float32 {
	k := e.problem.K
	e.problem.admitted = vector.Zeroed(e.problem.admitted, len(e.items)*k)
	weights := e.problem.admitted
	for i := range e.items {
		switch {
		case e.items[i].Label != "":
		case e.solved.Confidence[i] >= gateConfidence && float64(e.solved.Agreement[i]) >= gateAgreement:
			copy(weights[i*k:i*k+k], e.solved.S[i*k:])
			e.report.Admitted++
		default:
			e.report.NotAdmitted++
		}
	}
	return weights
}

// learn takes items into the prototypes, each with its weight for every class.
func (p *prototypes) learn(e *answered, weights []float32) {
	if p.closed && len(p.of) == 0 {
		return
	}
	k, d := e.problem.K, e.problem.D
	e.problem.sums = vector.Zeroed(e.problem.sums, k*d)
	sums := e.problem.sums
	kernel.Accumulate(sums, weights, e.solved.Z, len(e.items), k, d)
	for c, name := range e.problem.names {
		if p.closed && p.of[name] == nil {
			continue
		}
		var mass float64
		for i := range e.items {
			mass += float64(weights[i*k+c])
		}
		if mass < 1e-6 {
			continue
		}
		was := p.entry(name)
		if was.mean == nil {
			was.mean = make([]float32, d)
		}
		kernel.Scale(float32(was.mass/(was.mass+mass)), was.mean)
		kernel.Axpy(float32(1/(was.mass+mass)), sums[c*d:c*d+d], was.mean)
		was.mass = min(mostMass, was.mass+mass)
	}
}

func (p *prototypes) entry(class string) *prototype {
	if p.of == nil {
		p.of = map[string]*prototype{}
	}
	if p.of[class] == nil {
		p.of[class] = &prototype{}
	}
	return p.of[class]
}

// prior is the warm start: each learned prototype, weighing no more than the labelled items of its class,
// and no more than what was lately seen of it: a prototype drawn from many items is nearer to everything
// than one labelled item is, so that one whose class has gone takes in items of classes that nobody has seen
// yet. It is nil where nothing was learned.
func (s *Stream) prior(p *problem) *solver.Prior {
	var prior *solver.Prior
	for c, name := range p.names {
		learned := s.prototypes.of[name]
		if learned == nil || learned.mean == nil || s.prototypes.closed && p.labelCounts[c] < fewLabels {
			continue
		}
		if prior == nil {
			prior = &p.learned
			prior.Means, prior.Weights = vector.Zeroed(prior.Means, p.K*p.D), vector.Zeroed(prior.Weights, p.K)
		}
		copy(prior.Means[c*p.D:], learned.mean)
		prior.Weights[c] = float32(min(learned.mass, s.labelWeight(p.K)*p.labelCounts[c], s.proportions.counts[name]))
	}
	return prior
}

// labelWeight is what a labelled item weighs in its prototype, among k classes.
func (s *Stream) labelWeight(k int) float64 {
	if ws := s.settings.Solver.WS; ws != 0 {
		return ws
	}
	return max(1, .5*math.Log2(float64(k)))
}

// priorFraction is the learned prototypes' part of the mass of labelled items and learned prototypes
// together.
func (s *Stream) priorFraction(p *problem) float64 {
	if p.Prior == nil {
		return 0
	}
	var learned, labelled float64
	for c, w := range p.Prior.Weights {
		learned += float64(w)
		labelled += s.labelWeight(p.K) * p.labelCounts[c]
	}
	return learned / max(learned+labelled, math.SmallestNonzeroFloat64)
}

func (p *prototypes) reset(class string) bool {
	_, had := p.of[class]
	delete(p.of, class)
	return had
}

func (p *prototypes) encode(e *encoder) {
	if p.closed {
		e.head.integer(fieldTaught, 1)
	}
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		w := e.class(name)
		w.float(fieldMass, p.of[name].mass)
		w.vector(fieldMean, p.of[name].mean)
	}
}

func (p *prototypes) decode(f *field) {
	switch {
	case f.is("head", fieldTaught):
		p.closed = f.integer() != 0
	case f.is("class", fieldMass):
		p.entry(f.class).mass = f.float()
	case f.is("class", fieldMean):
		p.entry(f.class).mean = f.vector(f.dimension)
	case f.is("class", 0):
		k := p.of[f.class]
		switch {
		case k == nil:
		case !(k.mass >= 0):
			f.fail("mass below zero")
		case k.mean == nil:
			delete(p.of, f.class)
		}
	}
}
