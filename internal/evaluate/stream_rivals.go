package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// rival answers the stream with one of Rivals. It sees unit rows, the labels of the supports from the start,
// and those of an episode's taught items before it answers any item of the episode, as the stage does.
func (t *Trial) rival(ctx context.Context, method string) ([]stream.Answer, error) {
	switch {
	case slices.Contains(Updates, method):
		return t.updates(ctx, method)
	case method == labelSpreading:
		return t.spreading(ctx)
	}
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
	if slices.ContainsFunc(t.Items, func(i StreamItem) bool { return i.Nobody() && i.Taught }) {
		class(-1)
	}
	var learner interface {
		learn(row []float32, class int)
		answer(row []float32) int
	}
	switch method {
	case "1nn":
		learner = &nearestLabelled{}
	case "centred-mean":
		learner = &centredMean{}
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
	answers := make([]stream.Answer, len(t.Items))
	labelled := len(t.Supports) > 0
	for _, episode := range t.Episodes {
		for _, i := range episode {
			if item := t.Items[i]; item.Taught {
				learner.learn(unitRow(item.Vector), class(item.Truth))
				labelled = true
			}
		}
		if !labelled { // no answers yet
			continue
		}
		for _, i := range episode {
			answers[i].Label = className(classes[learner.answer(unitRow(t.Items[i].Vector))])
			if nearest, ok := learner.(*nearestLabelled); ok {
				answers[i].UnknownScore = float64(nearest.distance)
			}
		}
	}
	return answers, nil
}

// updates answers each episode separately, from the labels before the start and in the episode.
func (t *Trial) updates(ctx context.Context, method string) ([]stream.Answer, error) {
	number := map[int32]int32{}
	var classes []int32
	class := func(y int32) int32 {
		if _, ok := number[y]; !ok {
			number[y] = int32(len(classes))
			classes = append(classes, y)
		}
		return number[y]
	}
	answers := make([]stream.Answer, len(t.Items))
	for _, episode := range t.Episodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var rows [][]float32
		var given []int32
		add := func(row []float32, label int32) {
			rows, given = append(rows, row), append(given, label)
		}
		for i, row := range t.Supports {
			add(row, class(t.SupportLabels[i]))
		}
		for _, i := range episode {
			label := int32(-1)
			if t.Items[i].Taught {
				label = class(t.Items[i].Truth)
			}
			add(t.Items[i].Vector, label)
		}
		if len(classes) == 0 { // no label yet, no answers
			continue
		}
		labels, err := updated(method, &solver.Problem{Rows: solver.List(rows), K: len(classes), Labels: given})
		if err != nil {
			return nil, err
		}
		for i, at := range episode {
			answers[at].Label = className(classes[labels[len(t.Supports)+i]])
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
	rows     [][]float32
	class    []int
	distance float32 // of the last answered row: 1 less the cosine
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
	n.distance = 1 - best
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

// centredMean answers with the class whose mean has the smallest angle to the row, both less the mean of the
// class means.
type centredMean struct {
	runningMean
	means [][]float32 // centred, of length 1; nil: not computed yet
	mean  []float32
}

func (m *centredMean) learn(row []float32, class int) {
	m.runningMean.learn(row, class)
	m.means = nil
}

func (m *centredMean) answer(row []float32) int {
	if m.means == nil {
		m.mean = make([]float32, len(row))
		classes := float32(0)
		for c, n := range m.count {
			if n > 0 {
				classes++
				kernel.Axpy(1/n, m.sum[c], m.mean)
			}
		}
		kernel.Scale(1/classes, m.mean)
		for c, n := range m.count {
			centred := slices.Clone(m.sum[c])
			kernel.Axpy(-n, m.mean, centred)
			m.means = append(m.means, unitRow(centred))
		}
	}
	best, at := float32(math.Inf(-1)), 0
	for c, mean := range m.means {
		if v := kernel.Dot(row, mean) - kernel.Dot(m.mean, mean); m.count[c] > 0 && v > best {
			best, at = v, c
		}
	}
	return at
}

// ridge is least squares on one-hot targets, updated exactly: (X'X + penalty I)^-1 by rank-one updates.
type ridge struct {
	d       int
	inverse *mat.SymDense
	targets [][]float64 // X'y of each class
	weights [][]float64 // nil: not computed yet
}

// penalty suits rows of unit length. 1 costs ridge three to nine points on a street camera with 3 % taught.
const penalty = .1

func newRidge(d, classes int) *ridge {
	r := &ridge{d: d + 1, inverse: mat.NewSymDense(d+1, nil), targets: make([][]float64, classes)}
	for i := range d + 1 {
		r.inverse.SetSym(i, i, 1/penalty)
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

// logistic is multinomial logistic regression by stochastic gradient descent: ten passes over the first labelled
// rows, and two over all of them whenever there are new ones. The order is random, because in order of arrival the
// last class would be learned best.
type logistic struct {
	rows    [][]float32 // the intercept's constant last
	class   []int
	weights [][]float32
	stale   bool
	fitted  bool
}

func (l *logistic) learn(row []float32, class int) {
	l.rows, l.class, l.stale = append(l.rows, append(slices.Clone(row), 1)), append(l.class, class), true
	for len(l.weights) <= class {
		l.weights = append(l.weights, make([]float32, len(row)+1))
	}
}

func (l *logistic) scores(x []float32) []float64 {
	out := make([]float64, len(l.weights))
	for c, w := range l.weights {
		out[c] = float64(kernel.Dot(w, x))
	}
	return out
}

func (l *logistic) fit() {
	const first, later, rate = 10, 2, 3
	passes := later
	if !l.fitted {
		passes, l.fitted = first, true
	}
	random := rand.New(rand.NewPCG(1, uint64(len(l.rows))))
	for range passes {
		for _, i := range random.Perm(len(l.rows)) {
			scores := l.scores(l.rows[i])
			most, sum := slices.Max(scores), 0.
			for c, v := range scores {
				scores[c] = math.Exp(v - most)
				sum += scores[c]
			}
			for c, v := range scores {
				step := v / sum
				if c == l.class[i] {
					step--
				}
				if math.Abs(step) > 1e-4 {
					kernel.Axpy(float32(-rate*step), l.rows[i], l.weights[c])
				}
			}
		}
	}
	l.stale = false
}

func (l *logistic) answer(row []float32) int {
	if l.stale {
		l.fit()
	}
	scores := l.scores(append(slices.Clone(row), 1))
	return slices.Index(scores, slices.Max(scores))
}
