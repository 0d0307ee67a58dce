package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// evidence is how much the stream's two sources of evidence count: the score by prototypes, and the likeness to
// the nearest labelled item of a class. No constant suits all streams: where a class looks the same all the time
// its prototype says most, where views and light change a labelled item of just before does. So the weights are
// those that make the labels most likely of items that were answered without them: multinomial logistic
// regression with a normal prior about 1 and 0. They are 1 and 0 until a label comes later.
//
// Labels of earlier episodes count by the quadratic form of their logarithmic likelihood about the weights of
// then, which counts less with each later label.
type evidence struct {
	fitted weights
	before quadratic
}

// weights are f of the score by prototypes and w of the likeness.
type weights struct{ f, w float64 }

const (
	deviationOfF = .5 // of the prior
	deviationOfW = 4.
	labelsKept   = 200 // as many later labels take away all but 1/e of what a label counts
	leastOfF     = .05
)

// quadratic is the function ff f^2/2 + fw f w + ww w^2/2 - f b.f - w b.w of the weights.
type quadratic struct {
	ff, fw, ww float64
	b          weights
}

// prior is minus the logarithm of the prior's density.
var prior = quadratic{
	ff: 1 / (deviationOfF * deviationOfF), ww: 1 / (deviationOfW * deviationOfW), b: weights{f: 1 / (deviationOfF * deviationOfF)},
}

func (q *quadratic) scale(by float64) {
	*q = quadratic{by * q.ff, by * q.fw, by * q.ww, weights{by * q.b.f, by * q.b.w}}
}

// at returns the function's value and gradient.
func (q *quadratic) at(x weights) (value float64, gradient weights) {
	a := weights{q.ff*x.f + q.fw*x.w, q.fw*x.f + q.ww*x.w}
	return (a.f/2-q.b.f)*x.f + (a.w/2-q.b.w)*x.w, weights{a.f - q.b.f, a.w - q.b.w}
}

// solution solves A x = y for the function's matrix A.
func (q *quadratic) solution(y weights) weights {
	det := q.ff*q.ww - q.fw*q.fw
	return weights{(q.ww*y.f - q.fw*y.w) / det, (q.ff*y.w - q.fw*y.f) / det}
}

// testimony is what both sources say of labelled items, a value for each class, in a solve without their labels.
type testimony struct {
	k                   int
	prototypes, nearest []float32 // items x k; -Inf: no class of the solve
	labels              []int32
}

// add adds a row of a solve.
func (t *testimony) add(r *solver.Result, row int, label int32) {
	at := len(t.labels) * t.k
	t.labels = append(t.labels, label)
	t.prototypes, t.nearest = slices.Grow(t.prototypes, t.k)[:at+t.k], slices.Grow(t.nearest, t.k)[:at+t.k]
	r.Evidence(row, t.prototypes[at:], t.nearest[at:])
}

// loss returns minus the logarithmic likelihood of the labels, its gradient and its second derivatives.
func (t *testimony) loss(x weights) (loss float64, gradient weights, second quadratic) {
	for i, label := range t.labels {
		a, b := t.prototypes[i*t.k:(i+1)*t.k], t.nearest[i*t.k:(i+1)*t.k]
		most := math.Inf(-1)
		for c := range a {
			most = max(most, x.f*float64(a[c])+x.w*float64(b[c]))
		}
		var z, f, w, ff, fw, ww float64
		for c := range a {
			m, n := float64(a[c]), float64(b[c])
			if p := math.Exp(x.f*m + x.w*n - most); p > 0 {
				z, f, w, ff, fw, ww = z+p, f+p*m, w+p*n, ff+p*m*m, fw+p*m*n, ww+p*n*n
			}
		}
		f, w = f/z, w/z
		m, n := float64(a[label]), float64(b[label])
		loss += most + math.Log(z) - x.f*m - x.w*n
		gradient.f, gradient.w = gradient.f+f-m, gradient.w+w-n
		second.ff, second.fw, second.ww = second.ff+ff/z-f*f, second.fw+fw/z-f*w, second.ww+ww/z-w*w
	}
	return loss, gradient, second
}

// fit fits the weights to later labels, by Newton's method.
func (e *evidence) fit(t *testimony) {
	if len(t.labels) == 0 {
		return
	}
	e.before.scale(math.Exp(-float64(len(t.labels)) / labelsKept))
	total := func(x weights) (float64, weights, quadratic) {
		loss, gradient, second := t.loss(x)
		for _, q := range [...]*quadratic{&prior, &e.before} {
			value, slope := q.at(x)
			loss += value
			gradient.f, gradient.w = gradient.f+slope.f, gradient.w+slope.w
			second.ff, second.fw, second.ww = second.ff+q.ff, second.fw+q.fw, second.ww+q.ww
		}
		return loss, gradient, second
	}
	x := e.fitted
	loss, gradient, second := total(x)
	for by := 1.; by > 1e-3; { // halved where a whole step leads too far
		step := second.solution(gradient)
		next := weights{x.f - by*step.f, x.w - by*step.w}
		value, slope, curve := total(next)
		if !(value <= loss) {
			by /= 2
			continue
		}
		done := math.Abs(step.f)+math.Abs(step.w) < 1e-4
		if x, loss, gradient, second = next, value, slope, curve; done {
			break
		}
		by = 1
	}
	_, gradient, second = t.loss(x)
	_, slope := second.at(x)
	e.before.ff, e.before.fw, e.before.ww = e.before.ff+second.ff, e.before.fw+second.fw, e.before.ww+second.ww
	e.before.b.f, e.before.b.w = e.before.b.f+slope.f-gradient.f, e.before.b.w+slope.w-gradient.w
	e.fitted = x
}

// weights are those in force. A score that should be sharper stays as it is, and both are divided by f, as the
// graph's weight is no part of the fit.
func (e *evidence) weights() solver.Weights {
	f, w := max(leastOfF, e.fitted.f), max(0, e.fitted.w)
	if f > 1 {
		f, w = 1, w/f
	}
	return solver.Weights{Prototypes: f, Nearest: w}
}

func (e *evidence) fields(f *fields) {
	if f.kind != "head" || f.writes && e.before == (quadratic{}) {
		return
	}
	q := &e.before
	values := []float64{e.fitted.f, e.fitted.w, q.ff, q.fw, q.ww, q.b.f, q.b.w}
	slice(f, fieldWeights, &values, len(values))
	e.fitted, *q = weights{values[0], values[1]}, quadratic{values[2], values[3], values[4], weights{values[5], values[6]}}
	f.check(q.ff >= 0 && q.ww >= 0 && q.ff*q.ww >= q.fw*q.fw*(1-1e-9), "weights")
}
