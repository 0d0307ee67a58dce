package solver

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// Embedding maps a raw row x to the space the solver works in: z = L2(sign(x)|x|^power - Mean); with a metric,
// u is what it makes of z.
type Embedding struct {
	Mean   []float32      // nil: the mean of the labelled rows with equal weight a class
	Metric *metric.Metric // nil: u = z
}

func (e *Embedding) check(d int) error {
	if e == nil {
		return nil
	}
	if e.Mean != nil && len(e.Mean) != d {
		return fmt.Errorf("embedding: mean of dimension %d, not %d", len(e.Mean), d)
	}
	if i := vector.NotFinite(e.Mean); i >= 0 {
		return fmt.Errorf("embedding: mean: value %g at %d is not finite", e.Mean[i], i)
	}
	if e.Metric == nil {
		return nil
	}
	return e.Metric.Check(d)
}

// raise fills out with sign(x)|x|^power.
func raise(out, x []float32, power float64) {
	switch power {
	case 1:
		copy(out, x) // nothing happens where they are the same
	case .75:
		kernel.ThreeQuarterPower(out, x)
	default:
		for i, v := range x {
			out[i] = float32(math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v)))
		}
	}
}

// classMean fills mean with the mean of the labelled rows with equal weight a class. count holds k zeros.
func classMean(mean, x []float32, labels []int32, count []float64) {
	d := len(mean)
	clear(mean)
	var classes float64
	for _, l := range labels {
		if l >= 0 {
			if count[l] == 0 {
				classes++
			}
			count[l]++
		}
	}
	for i, l := range labels {
		if l >= 0 {
			kernel.Axpy(float32(1/(count[l]*classes)), x[i*d:i*d+d], mean)
		}
	}
}

// embed fills z from raw values: rows and anchors.
func (e *episode) embed(p *Problem) error {
	d := e.d
	e.z = vector.Resize(e.z, (e.n+e.anchors)*d)
	e.mean = vector.Resize(e.mean, d)
	given := p.Embedding != nil && p.Embedding.Mean != nil
	if given {
		copy(e.mean, p.Embedding.Mean)
	} else {
		for q, y := range e.label[:e.n+e.anchors] {
			if y >= 0 {
				raise(e.z[q*d:q*d+d], p.raw(q), e.settings.Power)
			}
		}
		e.total = vector.Zeroed(e.total, e.k)
		classMean(e.mean, e.z, e.label[:e.n+e.anchors], e.total)
	}
	var bad int
	if len(e.pool.workers) == 1 { // no closure: nothing is allocated
		bad = e.embedSome(p, 0, e.n+e.anchors, given)
	} else {
		bad = e.embedByBlocks(p, given)
	}
	if bad >= 0 {
		return e.fault(p, bad)
	}
	return nil
}

// embedSome fills z for some rows, of which the labelled are raised already where the mean comes from them, and returns the
// first that has no finite length, -1 if there is none.
func (e *episode) embedSome(p *Problem, from, to int, given bool) int {
	d := e.d
	for q := from; q < to; q++ {
		row := e.z[q*d : q*d+d]
		if given || e.label[q] < 0 { // while it is in the nearest cache
			raise(row, p.raw(q), e.settings.Power)
		}
		kernel.Axpy(-1, e.mean, row)
		if !vector.Unit(row, row) && vector.NotFinite(row) >= 0 {
			return q
		}
	}
	return -1
}

// embedByBlocks is embedSome of all rows, side by side.
func (e *episode) embedByBlocks(p *Problem, given bool) int {
	all := e.n + e.anchors
	blocks := (all + tile - 1) / tile
	bad := make([]int, blocks)
	e.pool.run(blocks, func(_ *worker, block int) {
		bad[block] = e.embedSome(p, block*tile, min(all, (block+1)*tile), given)
	})
	for _, q := range bad {
		if q >= 0 {
			return q
		}
	}
	return -1
}

// fault names the row that could not be embedded: any that is not finite, as it is in the mean of all, else row q.
func (e *episode) fault(p *Problem, q int) error {
	name := func(q int) string {
		if q >= e.n {
			return fmt.Sprintf("anchor %d", q-e.n)
		}
		return fmt.Sprintf("row %d", q)
	}
	for i := range e.n + e.anchors {
		row := p.raw(i)
		if j := vector.NotFinite(row); j >= 0 {
			return fmt.Errorf("%s: value %g at %d is not finite", name(i), row[j], j)
		}
	}
	return fmt.Errorf("%s: its values overflow when raised to the power %g and centred", name(q), e.settings.Power)
}

// embedRows fills u for the row-space engine: the metric applied, prior prototypes at |m'| L2(metric(m' - m2)).
func (e *episode) embedRows(p *Problem) {
	d, own := e.d, (e.n+e.anchors)*e.d
	var learned *metric.Metric
	if p.Embedding != nil {
		learned = p.Embedding.Metric
	}
	if learned == nil && !e.settings.Paper.BiasCorrection && e.rows == e.n+e.anchors {
		e.u = e.z // shared: the row-space engine reads it only
	} else {
		e.mapped = vector.Resize(e.mapped, e.rows*d)
		e.u = e.mapped
		copy(e.u, e.z)
	}
	if e.settings.Paper.BiasCorrection {
		e.correctBias()
	}
	if p.Prior != nil {
		to := own
		for k, w := range p.Prior.Weights {
			if w > 0 {
				copy(e.u[to:to+d], p.Prior.Means[k*d:k*d+d])
				to += d
			}
		}
	}
	if learned != nil {
		e.scratch = vector.Resize(e.scratch, metric.ScratchRows*len(learned.Scales))
		learned.Apply(e.u[:own], e.scratch)
		for from := own; from < len(e.u); from += d {
			row := e.u[from : from+d]
			length := kernel.Dot(row, row)
			learned.Apply(row, e.scratch)
			kernel.Scale(float32(math.Sqrt(float64(length))), row)
		}
	}
	e.own = vector.Resize(e.own, e.rows)
	e.pool.run((e.rows+tile-1)/tile, func(_ *worker, block int) {
		for p := block * tile; p < min(e.rows, (block+1)*tile); p++ {
			row := e.u[p*d : p*d+d]
			e.own[p] = kernel.Dot(row, row)
		}
	})
}

// correctBias moves the unlabelled rows by the difference of the means of labelled and unlabelled rows.
func (e *episode) correctBias() {
	all := e.n + e.anchors
	if e.unlabelled == 0 || e.unlabelled == all {
		return
	}
	d := e.d
	e.scratch = vector.Zeroed(e.scratch, d)
	for p, y := range e.label[:all] {
		share := 1 / float32(all-e.unlabelled)
		if y < 0 {
			share = -1 / float32(e.unlabelled)
		}
		kernel.Axpy(share, e.u[p*d:p*d+d], e.scratch)
	}
	for p, y := range e.label[:e.n] {
		if y < 0 {
			kernel.Axpy(1, e.scratch, e.u[p*d:p*d+d])
		}
	}
}
