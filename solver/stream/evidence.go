package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// evidence is how much the stream's sources of evidence count: the score by prototypes, the likeness to the nearest
// labelled item of a class, and the neighbours in the graph. No constants suit all streams: where a class looks the
// same all the time its prototype says most, where views and light change a labelled item of just before does. So
// the weights are those that make the labels most likely of items that were answered without them: multinomial
// logistic regression with a normal prior. There are two sets, of one likelihood and different priors: the solve's,
// about those of a solve without later labels, and those of the confidence, about trust, which are the probability
// that an answer is right.
//
// Labels of earlier episodes count by the quadratic form of their logarithmic likelihood about the weights of
// then, which counts less with each later label.
type evidence struct {
	solves, believes []float64          // of prototypes, nearest, graph
	before           logistic.Quadratic // minus the logarithmic likelihood of earlier labels
	trust            float64
}

const (
	sources    = 3
	labelsKept = 200 // as many later labels take away all but 1/e of what a label counts
	leastOfF   = .05
)

func newEvidence() evidence {
	return evidence{
		solves: []float64{1, 0, 1}, believes: []float64{1, 0, 1}, trust: 1,
		before: logistic.Quadratic{A: make([]float64, sources*sources), B: make([]float64, sources)},
	}
}

// solvePrior is minus the logarithm of the prior's density of the weights of a solve.
var solvePrior = logistic.Normal([]float64{1, 0, 1}, []float64{.5, 4, .5})

// beliefPrior is that of the weights of the confidence.
func beliefPrior(trust float64) logistic.Quadratic {
	return logistic.Normal([]float64{trust, 0, trust}, []float64{.25, 4, .25})
}

// testimony is what the sources say of labelled items, in a solve without their labels.
type testimony struct {
	logistic.Choices
	said solver.Sources // of an item
}

// add adds the item, which has a label, if the label's class could be answered.
func (t *testimony) add(label int32) {
	if math.IsInf(float64(t.said.Prototypes[label]), -1) {
		return
	}
	t.Weights = sources
	for c, m := range t.said.Prototypes {
		if math.IsInf(float64(m), -1) {
			continue
		}
		if int32(c) == label {
			t.Right = append(t.Right, len(t.Offsets))
		}
		t.Values = append(t.Values, m, t.said.Nearest[c], t.said.Graph[c])
		t.Offsets = append(t.Offsets, t.said.Proportions[c])
	}
	t.Ends = append(t.Ends, len(t.Offsets))
}

// fit fits the weights to later labels.
func (e *evidence) fit(t *testimony) {
	if len(t.Right) == 0 {
		return
	}
	none := logistic.Quadratic{A: make([]float64, sources*sources), B: make([]float64, sources)}
	before := none.Plus(e.before, math.Exp(-float64(len(t.Right))/labelsKept))
	e.solves = t.Fit(e.solves, before.Plus(solvePrior, 1))
	e.believes = t.Fit(e.believes, before.Plus(beliefPrior(e.trust), 1))
	e.before = before.Plus(t.About(e.believes), 1)
}

// weights are those of a solve. A score that should be sharper stays as it is, and both are divided by f: the
// weight of the graph is right for the descent, in which rows agree with each other, and not what its agreement
// proves.
func (e *evidence) weights() solver.Weights {
	f, w := max(leastOfF, e.solves[0]), max(0, e.solves[1])
	if f > 1 {
		f, w = 1, w/f
	}
	return solver.Weights{Prototypes: f, Nearest: w}
}

// answer is the class that a solve gives a row of which the sources say this.
func (e *evidence) answer(said *solver.Sources) (class int32) {
	w, most := e.weights(), math.Inf(-1)
	for c, m := range said.Prototypes {
		score := w.Prototypes*float64(m) + w.Nearest*float64(said.Nearest[c]) + float64(said.Graph[c]+said.Proportions[c])
		if score > most {
			class, most = int32(c), score
		}
	}
	return class
}

// probability is how likely a class is right for a row of which the sources say this.
func (e *evidence) probability(said *solver.Sources, class int32) float32 {
	w, sum := e.believes, 0.
	score := func(c int) float64 {
		return w[0]*float64(said.Prototypes[c]) + w[1]*float64(said.Nearest[c]) + w[2]*float64(said.Graph[c]) +
			float64(said.Proportions[c])
	}
	own := score(int(class))
	for c, m := range said.Prototypes {
		if !math.IsInf(float64(m), -1) {
			sum += math.Exp(score(c) - own)
		}
	}
	return float32(1 / sum)
}

// renew takes the trust from a solve.
func (e *evidence) renew(of *episode, r *solver.Result) {
	if !of.cold && !metric.Refreshes(of.number) {
		return
	}
	if tau, ok := of.concentration(r); ok {
		e.trust = min(1, trustOfConcentration*tau/of.stream.settings.Solver.Tau)
		e.believes = (&logistic.Choices{Weights: sources}).Fit(e.believes, e.before.Plus(beliefPrior(e.trust), 1))
	}
}

func (e *evidence) fields(f *fields) {
	if f.kind != "head" || f.writes && e.trust == 1 && slices.Max(e.before.A) == 0 {
		return
	}
	values := slices.Concat(e.solves, e.believes, e.before.A, e.before.B, []float64{e.trust})
	slice(f, fieldWeights, &values, len(values))
	if f.writes {
		return
	}
	take := func(n int) (out []float64) { out, values = values[:n:n], values[n:]; return out }
	e.solves, e.believes = take(sources), take(sources)
	e.before = logistic.Quadratic{A: take(sources * sources), B: take(sources)}
	e.trust = values[0]
	f.check(e.trust > 0 && e.trust <= 1 && e.before.A[0] >= 0, "weights")
}
