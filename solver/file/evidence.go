package file

import (
	"math"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/kernel"
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
	weight float32       // of the evidence of a row, relative to its degree
}

// newEvidence takes the class of each row of the points.
func (l *loaded) newEvidence(class []int32, similar similarity, settings solver.Settings) *evidence {
	k := l.k
	e := &evidence{
		points: &l.points, order: similar.order, class: similar.in(class), psi: make([]float32, k),
		total: make([]float32, l.all), weight: l.evidenceWeight(),
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
	eachChunk(l.all, func(_, from, to int) {
		scores := e.scores(from, to, 0, k)
		for i := from; i < to; i++ {
			e.total[i] = logSumExp(scores[(i-from)*k : (i-from+1)*k])
		}
	})
	return e
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
				out[from*k+i] = float32(math.Exp(float64(v - e.total[p])))
			}
		}
	})
	return out
}
