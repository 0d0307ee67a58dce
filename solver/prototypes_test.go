package solver

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Only the judge of both engines needs prototypes as rows.

// centres returns the prototypes, K x D in u-space; a masked class has zeros.
func (e *episode) centres() []float32 {
	d := e.rows.d
	out, active := make([]float32, len(e.classes.number)*d), make([]float32, e.classes.k*d)
	if e.prototypes.usesGram {
		e.prototypes.gram.prototypes(active)
	} else {
		copy(active, e.prototypes.direct.c)
	}
	for c, class := range e.classes.active {
		copy(out[int(class)*d:int(class)*d+d], active[c*d:c*d+d])
	}
	return out
}

// prototypes writes the prototypes as rows of u-space: metric(sum of weight * v), where only the linear part
// of the metric is needed.
func (g *gramSpace) prototypes(out []float32) {
	e, d, k := g.e, g.e.rows.d, g.e.classes.k
	kernel.Accumulate(out, g.weights, e.rows.v[:g.m*d], g.m, k, d)
	for p, y := range e.rows.countsFor {
		if y < 0 || g.holds[y] == 0 {
			continue
		}
		row, by := e.rows.v, e.rows.weight[p]
		if p < e.rows.firstMean {
			row = row[p*d : p*d+d]
		} else {
			var share float32
			row, share = e.meanRow(p)
			by *= share
		}
		kernel.Axpy(by, row, out[int(y)*d:int(y)*d+d])
	}
	for c, by := range g.factor {
		kernel.Scale(by, out[c*d:c*d+d])
	}
	if g.metric == nil {
		return
	}
	e.scratch.values = vector.Resize(e.scratch.values, k*len(g.metric.Scales))
	g.metric.Shrink(out, e.scratch.values)
}
