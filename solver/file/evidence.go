package file

import (
	"math"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
)

// evidenceWeight returns the weight of the evidence of a row, relative to its degree: that of all rows
// together is .3 of the weight of the labels; .03 in principal directions, in which means say little.
func (l *loaded) evidenceWeight() float32 {
	labelled := 0
	for _, y := range l.class {
		if y >= 0 {
			labelled++
		}
	}
	share := float32(.3)
	if l.directions {
		share = .03
	}
	return share * float32(labelled) / float32(l.all)
}

// evidence gives each row classes by distance alone: softmax(-a) from the prototypes of the labelled rows.
// It counts for little where labels arrive over the graph, and decides where none does. Its rows are in
// the given order.
type evidence struct {
	points *solver.Points
	order  []int32
	class  []int32       // at each position, -1 for none
	scaled vector.Matrix // 2 tau C
	psi    []float32     // tau psi of each class, +Inf for one without a label
	total  []float32     // at each position, log sum_c exp(score)
	weight float32       // by which a row is drawn to its evidence, relative to its degree
	part   float32       // of the weight that is evidence; the rest draws to nothing
}

// newEvidence takes the class of each row of the points, numbered by order, and what labels say alone, nil: not known.
func (l *loaded) newEvidence(class, order []int32, similar similarity, alone *spread, settings solver.Settings) *evidence {
	k := l.k
	e := &evidence{
		points: &l.points, order: similar.order, class: similar.in(class), psi: make([]float32, k),
		total: make([]float32, l.all), weight: l.evidenceWeight(), part: 1,
	}
	var count []float32
	e.scaled, count = classSums(e.points, class, k)
	for c, n := range count {
		row := e.scaled.Row(c)
		if n == 0 {
			e.psi[c] = float32(math.Inf(1))
			continue
		}
		kernel.Scale(1/n, row)
		if squared := float64(kernel.Dot(row, row)); squared > 0 {
			by, psi := solver.Pull(settings.Pull, squared)
			kernel.Scale(float32(2*settings.Tau*by), row)
			e.psi[c] = float32(settings.Tau * psi)
		}
	}
	if alone != nil {
		l.guide = math.Pow(e.temper(alone, order), guidePower)
		weight := e.weight * float32(l.guide)
		e.weight = max(leastWeight, weight)
		e.part = weight / e.weight
	}
	eachChunk(l.all, func(_, from, to int) {
		scores := e.scores(from, to, 0, k)
		for i := from; i < to; i++ {
			e.total[i] = logSumExp(scores[(i-from)*k : (i-from+1)*k])
		}
	})
	return e
}

// mostCompared bounds the rows on which the evidence is compared with labels that spread.
const mostCompared = 1000

// guidePower is the power of the sharpness of the evidence to which prototypes count, as evidence and in the vote.
const guidePower = 8

// temper makes the evidence as sharp as names most likely the classes that labels give alone, where they arrive, but at
// most as sharp as it is, with a prior of this, and returns by what factor. Below 1, rows of one class are not around its
// mean, but each near the next, as in a film. order: the number of each class of the evidence.
func (e *evidence) temper(alone *spread, order []int32) float64 {
	k := len(e.psi)
	position := make([]int, k)
	for c, y := range order {
		position[y] = c
	}
	cases := &logistic.Choices{Weights: 1}
	for i := 0; i < len(e.order); i += max(1, len(e.order)/mostCompared) {
		p := e.order[i]
		if e.class[i] >= 0 || alone.value[p] <= 0 {
			continue
		}
		right := position[alone.class[p]]
		for c, v := range e.scores(i, i+1, 0, k) {
			if c == right {
				cases.Right = append(cases.Right, len(cases.Offsets))
			}
			if !math.IsInf(float64(e.psi[c]), 1) {
				cases.Values, cases.Offsets = append(cases.Values, v), append(cases.Offsets, 0)
			}
		}
		cases.Ends = append(cases.Ends, len(cases.Offsets))
	}
	one := []float64{1}
	sharp := min(1, max(0, cases.Fit(one, logistic.Normal(one, one))[0]))
	kernel.Scale(float32(sharp), e.scaled.Values)
	for c, psi := range e.psi {
		if !math.IsInf(float64(psi), 1) {
			e.psi[c] = float32(sharp) * psi
		}
	}
	return sharp
}

func logSumExp(x []float32) float32 {
	most, sum := x[0], 0.
	for _, v := range x {
		most = max(most, v)
	}
	for _, v := range x {
		sum += math.Exp(float64(v - most))
	}
	return most + float32(math.Log(sum))
}

// scores returns -a for positions [from, to) and classes [first, last), without the terms that
// all classes share.
func (e *evidence) scores(from, to, first, last int) []float32 {
	d, k := e.points.D, last-first
	out, rows, scratch := make([]float32, (to-from)*k), make([]float32, (to-from)*d), e.points.Scratch(1)
	for i, p := range e.order[from:to] {
		copy(rows[i*d:i*d+d], e.points.Rows(int(p), int(p)+1, scratch))
	}
	kernel.Products(out, rows, e.scaled.Slice(first, last).Values, to-from, k, d)
	for i := range out {
		out[i] -= e.psi[first+i%k]
	}
	return out
}

// of returns the evidence for classes [first, last), a value for each position and class, 0 at labelled rows.
func (e *evidence) of(first, last int) []float32 {
	k := last - first
	out := make([]float32, len(e.order)*k)
	eachChunk(len(e.order), func(_, from, to int) {
		for i, v := range e.scores(from, to, first, last) {
			if p := from + i/k; e.class[p] < 0 {
				out[from*k+i] = e.part * float32(math.Exp(float64(v-e.total[p])))
			}
		}
	})
	return out
}
