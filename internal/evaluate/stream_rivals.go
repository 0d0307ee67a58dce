package evaluate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"slkstream/internal/kernel"
	"slkstream/internal/memory"
)

// rival answers the stream with one of Rivals: unit rows, the labels of the supports from the start, those of an episode's
// taught items before any item of it is answered, as the stage has them.
func (t *Trial) rival(method string) ([]memory.Answer, error) {
	number := map[int32]int{}
	var classes []int32
	class := func(y int32) int {
		if c, ok := number[y]; ok {
			return c
		}
		number[y] = len(classes)
		classes = append(classes, y)
		return number[y]
	}
	for _, y := range t.SupportLabels {
		class(y)
	}
	var learner interface {
		learn(row []float32, class int)
		answer(row []float32) int
	}
	switch method {
	case "1nn":
		learner = &nearestLabelled{}
	case "running-mean":
		learner = &runningMean{}
	case "ridge":
		learner = newRidge(t.D, len(classes))
	case "logistic":
		learner = &logistic{}
	default:
		return nil, fmt.Errorf("method %q: not one of %v", method, Rivals)
	}
	for i, row := range t.Supports {
		learner.learn(unitRow(row), class(t.SupportLabels[i]))
	}
	answers := make([]memory.Answer, len(t.Items))
	for _, episode := range t.Episodes {
		for _, i := range episode {
			if item := t.Items[i]; item.Taught {
				learner.learn(unitRow(item.Vector), class(item.Truth))
			}
		}
		for _, i := range episode {
			answers[i].Label = className(classes[learner.answer(unitRow(t.Items[i].Vector))])
		}
	}
	return answers, nil
}

func unitRow(row []float32) []float32 {
	out := make([]float32, len(row))
	copy(out, row)
	if l := kernel.Dot(row, row); l > 0 {
		kernel.Scale(float32(1/math.Sqrt(float64(l))), out)
	}
	return out
}

// nearestLabelled answers with the class of the nearest labelled row.
type nearestLabelled struct {
	rows  [][]float32
	class []int
}

func (n *nearestLabelled) learn(row []float32, class int) {
	n.rows, n.class = append(n.rows, row), append(n.class, class)
}

func (n *nearestLabelled) answer(row []float32) int {
	best, at := float32(math.Inf(-1)), 0
	for i, r := range n.rows {
		if v := kernel.Dot(row, r); v > best {
			best, at = v, n.class[i]
		}
	}
	return at
}

// runningMean answers with the class whose mean of labelled rows is nearest.
type runningMean struct {
	sum   [][]float32
	count []float32
}

func (m *runningMean) learn(row []float32, class int) {
	for len(m.sum) <= class {
		m.sum, m.count = append(m.sum, make([]float32, len(row))), append(m.count, 0)
	}
	kernel.Axpy(1, row, m.sum[class])
	m.count[class]++
}

func (m *runningMean) answer(row []float32) int {
	best, at := math.Inf(1), 0
	for c, sum := range m.sum {
		n := float64(m.count[c])
		distance := float64(kernel.Dot(sum, sum))/(n*n) - 2*float64(kernel.Dot(row, sum))/n
		if distance < best {
			best, at = distance, c
		}
	}
	return at
}

// ridge is least squares on one-hot targets, kept up to date exactly: (X'X + I)^-1 by rank-one updates.
type ridge struct {
	d       int
	inverse *mat.SymDense
	targets [][]float64 // X'y of each class
	weights [][]float64 // nil: to be computed
}

func newRidge(d, classes int) *ridge {
	r := &ridge{d: d + 1, inverse: mat.NewSymDense(d+1, nil), targets: make([][]float64, classes)}
	for i := range d + 1 {
		r.inverse.SetSym(i, i, 1)
	}
	for c := range r.targets {
		r.targets[c] = make([]float64, d+1)
	}
	return r
}

// withOne appends the constant of the intercept.
func withOne(row []float32) []float64 {
	out := make([]float64, len(row)+1)
	for i, v := range row {
		out[i] = float64(v)
	}
	out[len(row)] = 1
	return out
}

func (r *ridge) learn(row []float32, class int) {
	x := mat.NewVecDense(r.d, withOne(row))
	var px mat.VecDense
	px.MulVec(r.inverse, x)
	r.inverse.SymRankOne(r.inverse, -1/(1+mat.Dot(x, &px)), &px)
	for len(r.targets) <= class {
		r.targets = append(r.targets, make([]float64, r.d))
	}
	for i, v := range x.RawVector().Data {
		r.targets[class][i] += v
	}
	r.weights = nil
}

func (r *ridge) answer(row []float32) int {
	if r.weights == nil {
		for _, target := range r.targets {
			var w mat.VecDense
			w.MulVec(r.inverse, mat.NewVecDense(r.d, target))
			r.weights = append(r.weights, w.RawVector().Data)
		}
	}
	x := withOne(row)
	best, at := math.Inf(-1), 0
	for c, w := range r.weights {
		var v float64
		for i, f := range x {
			v += f * w[i]
		}
		if v > best {
			best, at = v, c
		}
	}
	return at
}

// logistic is multinomial logistic regression by stochastic gradient steps over all labelled rows seen, a few passes at each
// new one.
type logistic struct {
	rows    [][]float64
	class   []int
	weights [][]float64
	stale   bool
}

func (l *logistic) learn(row []float32, class int) {
	l.rows, l.class, l.stale = append(l.rows, withOne(row)), append(l.class, class), true
	for len(l.weights) <= class {
		l.weights = append(l.weights, make([]float64, len(row)+1))
	}
}

func (l *logistic) scores(x []float64) []float64 {
	out := make([]float64, len(l.weights))
	for c, w := range l.weights {
		for i, v := range x {
			out[c] += w[i] * v
		}
	}
	return out
}

func (l *logistic) answer(row []float32) int {
	if l.stale {
		const passes, rate = 3, 1.
		for range passes {
			for i, x := range l.rows {
				scores := l.scores(x)
				most, sum := math.Inf(-1), 0.
				for _, v := range scores {
					most = max(most, v)
				}
				for c, v := range scores {
					scores[c] = math.Exp(v - most)
					sum += scores[c]
				}
				for c := range scores {
					step := scores[c] / sum
					if c == l.class[i] {
						step--
					}
					if step *= rate; math.Abs(step) > 1e-4 {
						for j, v := range x {
							l.weights[c][j] -= step * v
						}
					}
				}
			}
		}
		l.stale = false
	}
	best, at := math.Inf(-1), 0
	for c, v := range l.scores(withOne(row)) {
		if v > best {
			best, at = v, c
		}
	}
	return at
}
