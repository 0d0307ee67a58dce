package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// weights are how much the sources of an answer count: the score by prototypes, the likeness to the nearest
// labelled item of a class, and the neighbours in the graph. No constants suit all streams: where a class looks the
// same all the time its prototype says most, where views and light change a labelled item of just before does. So
// the weights are those that make the labels most likely of items that were answered without them: multinomial
// logistic regression with a normal prior. There are two sets, of one likelihood and different priors: the solve's,
// about those of a solve without later labels, and those of the confidence, about trust, which are the probability
// that an answer is right.
//
// Labels of earlier episodes count by the quadratic form of their logarithmic likelihood about the weights of
// then, which counts less with each later label.
type weights struct {
	ofSolve, ofConfidence []float64          // of prototypes, nearest, graph
	before                logistic.Quadratic // minus the logarithmic likelihood of earlier labels
	examples              logistic.Quadratic // of examples that were held out, which count in a solve
	heldOutOf             float64            // of so many
	trust                 float64
}

const (
	sourceCount = 3   // prototypes, nearest, graph
	labelsKept  = 200 // as many later labels take away all but 1/e of what a label counts
	leastOfF    = .05
)

func newWeights() weights {
	return weights{ofSolve: []float64{1, 0, 1}, ofConfidence: []float64{1, 0, 1}, trust: 1, before: noLabels(), examples: noLabels()}
}

func noLabels() logistic.Quadratic {
	return logistic.Quadratic{A: make([]float64, sourceCount*sourceCount), B: make([]float64, sourceCount)}
}

// solvePrior is minus the logarithm of the prior's density of the weights of a solve.
var solvePrior = logistic.Normal([]float64{1, 0, 1}, []float64{.5, 4, .5})

// confidencePrior is that of the weights of the confidence.
func confidencePrior(trust float64) logistic.Quadratic {
	return logistic.Normal([]float64{trust, 0, trust}, []float64{.25, 4, .25})
}

// trialSources are what the sources say of labelled items, in a solve without their labels.
type trialSources struct {
	logistic.Choices
	item solver.Sources // of the next one
}

// add adds the item, which has a label, if the label's class could be answered.
func (t *trialSources) add(label int32) {
	if math.IsInf(float64(t.item.Prototypes[label]), -1) {
		return
	}
	t.Weights = sourceCount
	for c, m := range t.item.Prototypes {
		if math.IsInf(float64(m), -1) {
			continue
		}
		if int32(c) == label {
			t.Right = append(t.Right, len(t.Offsets))
		}
		t.Values = append(t.Values, m, t.item.Nearest[c], t.item.Graph[c])
		t.Offsets = append(t.Offsets, t.item.Proportions[c])
	}
	t.Ends = append(t.Ends, len(t.Offsets))
}

// fit fits the weights to later labels.
func (v *weights) fit(t *trialSources) {
	if len(t.Right) == 0 {
		return
	}
	before := noLabels().Plus(v.before, math.Exp(-float64(len(t.Right))/labelsKept))
	v.ofSolve = t.Fit(v.ofSolve, before.Plus(solvePrior, 1).Plus(v.examples, 1))
	v.ofConfidence = t.Fit(v.ofConfidence, before.Plus(confidencePrior(v.trust), 1))
	v.before = before.Plus(t.About(v.ofConfidence), 1)
}

// holdOut takes what the sources say of examples that were held out, each of which counts by so much. In the confidence
// they do not count: no items of their moment are beside them, which agree with each other.
func (v *weights) holdOut(said *trialSources, by float64) {
	v.examples = noLabels().Plus(said.About(said.Fit(v.ofSolve, v.before.Plus(solvePrior, 1))), by)
	v.ofSolve = (&logistic.Choices{Weights: sourceCount}).Fit(v.ofSolve, v.before.Plus(solvePrior, 1).Plus(v.examples, 1))
}

// forSolve returns those of a solve. A score that should be sharper stays as it is, and both are divided by f: the
// weight of the graph is right for the descent, in which rows agree with each other, and not what its agreement
// proves.
func (v *weights) forSolve() solver.Weights {
	f, w := max(leastOfF, v.ofSolve[0]), max(0, v.ofSolve[1])
	if f > 1 {
		f, w = 1, w/f
	}
	return solver.Weights{Prototypes: f, Nearest: w}
}

// answer is the class that a solve gives a row of which the sources say this.
func (v *weights) answer(of *solver.Sources) (class int32) {
	w, most := v.forSolve(), math.Inf(-1)
	for c, m := range of.Prototypes {
		score := w.Prototypes*float64(m) + w.Nearest*float64(of.Nearest[c]) + float64(of.Graph[c]+of.Proportions[c])
		if score > most {
			class, most = int32(c), score
		}
	}
	return class
}

// probability is how likely a class is right for a row of which the sources say this.
func (v *weights) probability(of *solver.Sources, class int32) float32 {
	w, sum := v.ofConfidence, 0.
	score := func(c int) float64 {
		return w[0]*float64(of.Prototypes[c]) + w[1]*float64(of.Nearest[c]) + w[2]*float64(of.Graph[c]) +
			float64(of.Proportions[c])
	}
	own := score(int(class))
	for c, m := range of.Prototypes {
		if !math.IsInf(float64(m), -1) {
			sum += math.Exp(score(c) - own)
		}
	}
	return float32(1 / sum)
}

// renew takes the trust from a solve, and reports items that look unlike the examples.
func (v *weights) renew(of *episode) {
	was, r := v.trust, &of.report
	if of.cold || of.stream.turn.Refreshes(of.number) {
		if trust, ok := of.trusted(); ok {
			if v.trust == 1 { // not compared yet
				v.trust = trust
			}
			v.trust = math.Pow(v.trust, trustKept) * math.Pow(trust, 1-trustKept)
			v.ofConfidence = (&logistic.Choices{Weights: sourceCount}).Fit(v.ofConfidence, v.before.Plus(confidencePrior(v.trust), 1))
		}
	}
	if r.Unlike = v.trust < unlikeBelow && !of.stream.calibration.fitted(); r.Unlike && was >= unlikeBelow {
		r.note("the items look unlike the examples, as if these were of other moments or places: " +
			"teach the stream some of its own items")
	}
}

func (v *weights) fields(f *piece.Fields) {
	if f.Kind != "head" {
		return
	}
	if !f.Writes || v.heldOutOf > 0 {
		held := slices.Concat(v.examples.A, v.examples.B, []float64{v.heldOutOf})
		piece.Slice(f, piece.HeldOut, &held, len(held))
		v.examples = logistic.Quadratic{A: held[:len(v.examples.A)], B: held[len(v.examples.A) : len(held)-1]}
		v.heldOutOf = held[len(held)-1]
		f.Check(v.heldOutOf >= 0 && v.examples.A[0] >= 0, "weights of examples")
	}
	if f.Writes && v.trust == 1 && v.heldOutOf == 0 && slices.Max(v.before.A) == 0 {
		return
	}
	values := slices.Concat(v.ofSolve, v.ofConfidence, v.before.A, v.before.B, []float64{v.trust})
	piece.Slice(f, piece.Weights, &values, len(values))
	if f.Writes {
		return
	}
	take := func(n int) (out []float64) { out, values = values[:n:n], values[n:]; return out }
	v.ofSolve, v.ofConfidence = take(sourceCount), take(sourceCount)
	v.before = logistic.Quadratic{A: take(sourceCount * sourceCount), B: take(sourceCount)}
	v.trust = values[0]
	f.Check(v.trust > 0 && v.trust <= 1 && v.before.A[0] >= 0, "weights")
}
