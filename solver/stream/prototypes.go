package stream

import (
	"iter"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// An answer is learned from if its agreement with the prototypes of the labelled items alone is at least
// gateAgreement. No learned prototype weighs more than Settings.Examples items, as many as are kept of a
// class with labels.
// Of an item a prototype learns no share below leastShare. One that weighs less than leastPrior of the
// class's labels is left out of a solve. Neither would move it, and most classes of a stream with many are
// not there.
const (
	gateAgreement = .4
	leastShare    = .001
	leastPrior    = .01
)

// prototypes are the means m' of the items answered with each class, in z-space: the warm start.
type prototypes struct {
	of          map[string]*prototype
	taughtLater bool // labels came after the first episode: there are no learned prototypes any more
}

// prototype is stored in terms of rows before the embedding's mean mu is subtracted: labels move mu, and a
// prototype relative to an earlier mu would not fit the classes of later ones.
type prototype struct {
	mean    []int16 // of rows times 1/|row - mu|: vector.ShortRow
	scale   float32
	inverse float32 // the mean of those factors: m' = mean - inverse mu
	mass    float64 // n'
}

func (p *prototypes) mass(class string) float64 {
	if k := p.of[class]; k != nil {
		return k.mass
	}
	return 0
}

func (p *prototypes) detach() {
	p.of = maps.Clone(p.of)
	for name, k := range p.of {
		next := *k
		next.mean = slices.Clone(k.mean)
		p.of[name] = &next
	}
}

// dropAll drops the learned prototypes for good: labels came after the start, and a prototype made from the
// stream's own answers would only work against them.
func (p *prototypes) dropAll() { p.of, p.taughtLater = nil, true }

// observe updates the prototypes. Only answers that pass the gate count: learning from every answer ruins a
// stream whose classes do not recur.
func (p *prototypes) observe(e *episode) {
	if e.solved != nil {
		p.learn(e, admit(e))
		maps.DeleteFunc(p.of, func(name string, _ *prototype) bool { return !e.problem.labelled(name) })
	}
	if e.taughtLater() {
		p.dropAll()
	}
}

// admit returns S of the items to be learned from, which the report counts; zeros for the others and for shares below leastShare.
func admit(e *episode) []float32 {
	k := e.problem.K
	e.problem.admitted = vector.Zeroed(e.problem.admitted, len(e.items)*k)
	weights := e.problem.admitted
	for i := range e.items {
		if e.items[i].Label != "" || float64(e.solved.Agreement[i]) < gateAgreement {
			continue
		}
		for c, v := range e.solved.S[i*k : i*k+k] {
			if v >= leastShare {
				weights[i*k+c] = v
			}
		}
		e.report.Admitted++
	}
	return weights
}

// learn adds items to the prototypes, each with its weight for every class.
func (p *prototypes) learn(e *episode, weights []float32) {
	if p.taughtLater {
		return
	}
	k, d, x := e.problem.K, e.stream.dimension, e.space
	for c, name := range e.problem.names {
		var mass float64
		for i := range e.items {
			mass += float64(weights[i*k+c])
		}
		if mass == 0 {
			continue
		}
		was := p.entry(name)
		if was.mean == nil {
			was.mean = make([]int16, d)
		}
		mean := vector.Resize(e.problem.mean, d)
		e.problem.mean = mean
		vector.LongRow(mean, was.mean, was.scale)
		before, now := float32(was.mass/(was.mass+mass)), float32(1/(was.mass+mass))
		kernel.Scale(before, mean)
		var inverse float32
		for i := range e.items {
			if weight := weights[i*k+c]; weight > 0 {
				inverse += weight * x.Inverse()[i]
				kernel.Axpy(now*weight, x.Z()[i*d:i*d+d], mean)
			}
		}
		kernel.Axpy(now*inverse, x.Mean(), mean)
		was.scale = vector.ShortRow(was.mean, mean)
		was.inverse = before*was.inverse + now*inverse
		was.mass = min(float64(e.stream.settings.Examples), was.mass+mass)
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

// contribute adds the warm start, or drops it if the labels topic has changed.
func (p *prototypes) contribute(e *episode) {
	if e.relabels && e.number > 1 {
		p.dropAll()
	}
	e.problem.Prior = e.stream.prior(e.problem)
}

// prior is the warm start: the learned prototypes with their weights; nil if nothing was learned. None weighs
// more than the labelled items of its class, as an annealed start would follow it alone, and none more than
// the recent items of its class: a prototype made from many items is nearer to everything than one labelled
// item is, so that one of a class that has gone would attract items of classes without labels.
func (s *Stream) prior(p *problem) *solver.Prior {
	var prior *solver.Prior
	for c, name := range p.names {
		learned := s.prototypes.of[name]
		if learned == nil {
			continue
		}
		labelled := s.settings.Solver.LabelWeight * p.labelCounts[c]
		weight := min(learned.mass, labelled, s.proportions.counts[name])
		if weight < leastPrior*labelled {
			continue
		}
		if prior == nil {
			prior = &p.learned
			prior.Means, prior.Weights = vector.Zeroed(prior.Means, p.K*s.dimension), vector.Zeroed(prior.Weights, p.K)
			prior.Inverse = vector.Zeroed(prior.Inverse, p.K)
		}
		vector.LongRow(prior.Means[c*s.dimension:], learned.mean, learned.scale)
		prior.Inverse[c] = learned.inverse
		prior.Weights[c] = float32(weight)
	}
	return prior
}

func (p *prototypes) reset(class string) bool {
	_, had := p.of[class]
	delete(p.of, class)
	return had
}

func (p *prototypes) bytes(d int) int { return (2*d + overhead) * len(p.of) }

func (p *prototypes) known() iter.Seq[string] { return maps.Keys(p.of) }

func (p *prototypes) fields(f *piece.Fields) {
	switch f.Kind {
	case "head":
		piece.Flag(f, piece.Taught, &p.taughtLater)
	case "class":
		k := p.of[f.Name]
		if k == nil && f.Writes {
			return
		} else if k == nil {
			k = &prototype{}
		}
		piece.Number(f, piece.Mass, &k.mass)
		piece.Slice(f, piece.ShortMean, &k.mean, f.Dimension)
		piece.Number(f, piece.Scales, &k.scale)
		piece.Number(f, piece.Inverse, &k.inverse)
		if f.Check(k.mass >= 0, "mass"); k.mean != nil && !f.Writes && !p.taughtLater { // earlier versions kept some
			*p.entry(f.Name) = *k
		}
	}
}
