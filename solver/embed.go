package solver

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// Embedding maps a raw row x to the spaces of the solver: z = L2(sign(x)|x|^power - Mean), and u = Metric(z).
type Embedding struct {
	Mean   []float32      // nil: the mean of the labelled rows, each class weighing the same
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

// Raise fills out with sign(x)|x|^power.
func Raise(out, x []float32, power float64) {
	switch power {
	case 1:
		copy(out, x) // no-op if they are the same
	case .75:
		kernel.ThreeQuarterPower(out, x)
	default:
		for i, v := range x {
			out[i] = float32(math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v)))
		}
	}
}

// classMean fills mean with the mean of the labelled rows, each class weighing the same. count must hold k
// zeros and gets the number of rows of each class.
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

// embed fills z from the raw values of items and of examples that are rows, and prepares the examples.
func (e *episode) embed(p *Problem) error {
	d, l := e.rows.d, e.examples.cache
	e.rows.z, e.rows.mean = vector.Resize(e.rows.z, e.rows.n*d), vector.Resize(e.rows.mean, d)
	e.rows.inverse = vector.Resize(e.rows.inverse, e.rows.n)
	if p.Embedding != nil && p.Embedding.Mean != nil {
		copy(e.rows.mean, p.Embedding.Mean)
	} else {
		e.findMean(p)
	}
	e.scratch.faults = vector.Resize(e.scratch.faults, (e.rows.n+tile-1)/tile)
	runWith(e, len(e.scratch.faults), p, func(e *episode, _ *worker, p *Problem, block int) {
		e.scratch.faults[block] = e.embedSome(p, block*tile, min(e.rows.n, (block+1)*tile))
	})
	for _, bad := range e.scratch.faults {
		if bad >= 0 {
			return e.fault(p, bad)
		}
	}
	if len(p.Examples.labels) > 0 {
		e.examples.loose.centre(e.rows.mean)
		if vector.NotFinite(e.examples.loose.squares) >= 0 {
			return e.fault(p, e.rows.n)
		}
	}
	var learned *metric.Metric
	if p.Embedding != nil {
		learned = p.Embedding.Metric
	}
	l.prepare(e.examples.list, e.rows.mean, learned, &e.examples.prepareWork)
	if e.rows.examplesAreRows && e.rows.examples > 0 {
		e.rows.z = e.examples.z(e.rows.z)
	}
	e.mapRows(p)
	return nil
}

// embedSome fills z for items [from, to) and returns the first whose embedding is not finite, -1 if
// there is none.
func (e *episode) embedSome(p *Problem, from, to int) int {
	d := e.rows.d
	for q := from; q < to; q++ {
		row := e.rows.z[q*d : q*d+d]
		Raise(row, p.raw(q), e.settings.Power)
		square := kernel.Difference(row, row, e.rows.mean)
		e.rows.inverse[q] = 0
		if inverse := 1 / math.Sqrt(float64(square)); inverse <= math.MaxFloat32 {
			e.rows.inverse[q] = float32(inverse)
		}
		if square > 1e-20 && square < 1e20 { // as vector.Unit
			kernel.Scale(e.rows.inverse[q], row)
		} else if !vector.Unit(row, row) && vector.NotFinite(row) >= 0 {
			return q
		}
	}
	return -1
}

// fault names the row that could not be embedded: the first with a value that is not finite, because that
// spoils the mean of all; else row q.
func (e *episode) fault(p *Problem, q int) error {
	fault := func(q int, format string, args ...any) error {
		if q >= e.rows.n {
			return fmt.Errorf("example %d: "+format, append([]any{q - e.rows.n}, args...)...)
		}
		return rowError(q, format, args...)
	}
	for i := range e.rows.n + len(p.Examples.labels) {
		row := p.raw(i)
		if j := vector.NotFinite(row); j >= 0 {
			return fault(i, "value %g at %d is not finite", row[j], j)
		}
	}
	return fault(q, "its values overflow when raised to the power %g and centred", e.settings.Power)
}

// mapRows fills v, by and along of all rows; v of means only for the row-space engine. u = metric(v) has
// length 1 for items and examples, |m'| for a prior prototype, and keeps its length for a mean of labelled
// rows.
func (e *episode) mapRows(p *Problem) {
	d, own, m, rows := e.rows.d, len(e.rows.z)/e.rows.d, e.examples.metric, e.rows.all
	if e.prototypes.usesGram {
		rows = e.rows.firstMean
	}
	if b := &e.examples; e.rows.firstMean < e.rows.all {
		b.added = b.cache.added(b.list, &b.prepareWork)
	}
	measured := 0 // rows whose square is known
	e.rows.factor, e.rows.squareCentred = vector.Resize(e.rows.factor, e.rows.all), vector.Resize(e.rows.squareCentred, e.rows.all)
	e.rows.squareU = vector.Resize(e.rows.squareU, e.rows.all)
	if m == nil && rows == own && !e.settings.Paper.BiasCorrection {
		e.rows.v = e.rows.z // shared, as it is only read
	} else {
		e.rows.mapped = vector.Resize(e.rows.mapped, rows*d)
		e.rows.v = e.rows.mapped
		if m == nil {
			copy(e.rows.v, e.rows.z)
		} else {
			for ; measured < own; measured++ {
				at := measured * d
				e.rows.squareCentred[measured] = kernel.Difference(e.rows.v[at:at+d], e.rows.z[at:at+d], m.Centre)
			}
		}
		if e.settings.Paper.BiasCorrection {
			e.correctBias()
			measured = 0
		}
		e.addHeld(p, own, rows)
	}
	if m != nil {
		directions := len(m.Scales)
		for q := own; q < e.rows.firstMean; q++ { // the labelled rows in a mean are centred already
			kernel.Axpy(-1, m.Centre, e.rows.v[q*d:q*d+d])
		}
		e.rows.along = vector.Resize(e.rows.along, e.rows.firstMean*directions)
		kernel.Products(e.rows.along, m.Vectors, e.rows.v[:e.rows.firstMean*d], directions, e.rows.firstMean, d)
		for r, s := range m.Scales {
			kernel.Scale(metric.AlongScale(s), e.rows.along[r*e.rows.firstMean:(r+1)*e.rows.firstMean])
		}
	}
	for q := measured; q < e.rows.firstMean; q++ {
		e.rows.squareCentred[q] = kernel.Dot(e.rows.v[q*d:q*d+d], e.rows.v[q*d:q*d+d])
	}
	copy(e.rows.squareU, e.rows.squareCentred)
	for q := e.rows.firstMean; q < e.rows.all; q++ {
		e.rows.squareU[q] = e.examples.cache.lengths[e.classes.active[e.rows.countsFor[q]]] / (e.rows.count[q] * e.rows.count[q])
	}
	for q := range e.rows.factor {
		e.rows.factor[q] = 1
	}
	if m == nil {
		return
	}
	for r, s := range m.Scales {
		sign := float32(-1)
		if s > 1 {
			sign = 1
		}
		for q, v := range e.rows.along[r*e.rows.firstMean : (r+1)*e.rows.firstMean] {
			e.rows.squareU[q] += sign * v * v
		}
	}
	for q, length := range e.rows.squareU[:e.rows.firstMean] {
		length, target := max(0, length), float32(1)
		if q >= own {
			target = e.rows.priorSquare[e.rows.countsFor[q]]
		}
		if e.rows.factor[q] = 0; length > metric.LeastLength {
			e.rows.factor[q] = float32(math.Sqrt(float64(target) / float64(length)))
		}
		kernel.Scale(e.rows.factor[q], e.rows.v[q*d:q*d+d])
		e.rows.squareU[q] = length * e.rows.factor[q] * e.rows.factor[q]
	}
	for from := 0; from < len(e.rows.along); from += e.rows.firstMean {
		along := e.rows.along[from : from+e.rows.firstMean]
		for q := range along {
			along[q] *= e.rows.factor[q]
		}
	}
}

// addHeld fills v of rows from to to-1: of the prior prototypes, then of the means of examples of the
// episode.
func (e *episode) addHeld(p *Problem, from, to int) {
	d := e.rows.d
	e.rows.priorSquare = vector.Resize(e.rows.priorSquare, e.classes.k)
	for q := from; q < to; q++ {
		row := e.rows.v[q*d : q*d+d]
		if q >= e.rows.firstMean {
			sum, share := e.meanRow(q)
			copy(row, sum)
			kernel.Scale(share, row)
		} else {
			p.Prior.mean(row, e.rows.mean, int(e.classes.active[e.rows.countsFor[q]]))
			e.rows.priorSquare[e.rows.countsFor[q]] = kernel.Dot(row, row)
		}
	}
}

// meanRow returns a mean of examples, like v, as a sum of rows and a factor.
func (e *episode) meanRow(q int) (sum []float32, share float32) {
	at := int(e.classes.active[e.rows.countsFor[q]]) * e.rows.d
	return e.examples.added[at : at+e.rows.d], 1 / e.rows.count[q]
}

// shrinkRows turns v into u in place for the row-space engine. The Gram-space engine uses its matrix instead.
func (e *episode) shrinkRows() {
	if e.prototypes.usesGram || e.rows.points != nil {
		return
	}
	e.rows.u = e.rows.v
	if m := e.examples.metric; m != nil {
		const some = 1 << 12
		for from := 0; from < len(e.rows.u); from += some * e.rows.d {
			rows := e.rows.u[from:min(from+some*e.rows.d, len(e.rows.u))]
			e.scratch.values = vector.Resize(e.scratch.values, len(rows)/e.rows.d*len(m.Scales))
			m.Shrink(rows, e.scratch.values)
		}
	}
	e.pool.run((e.rows.all+tile-1)/tile, func(_ *worker, block int) {
		for p := block * tile; p < min(e.rows.all, (block+1)*tile); p++ {
			row := e.rows.u[p*e.rows.d : p*e.rows.d+e.rows.d]
			e.rows.squareU[p] = kernel.Dot(row, row)
		}
	})
}

// aroundMeans returns the part of R, before the factor tau, that is lost when labelled rows are replaced by
// the mean of their class: ws (sum |u|^2 - count |mean|^2), summed over classes.
func (e *episode) aroundMeans() (sum float64) {
	if e.rows.examplesAreRows {
		return 0
	}
	for q := e.rows.n; q < e.rows.all; q++ {
		if count := float64(e.rows.count[q]); count > 0 {
			sum += e.model.ws * (e.examples.cache.unit[e.classes.active[e.rows.countsFor[q]]] - count*float64(e.rows.squareU[q]))
		}
	}
	return sum
}

// correctBias adds the mean of the labelled rows less that of the unlabelled rows to each unlabelled row.
func (e *episode) correctBias() {
	labelled := 0
	for _, y := range e.rows.label {
		if y >= 0 {
			labelled++
		}
	}
	if e.rows.unlabelled == 0 || labelled == 0 {
		return
	}
	d := e.rows.d
	e.scratch.values = vector.Zeroed(e.scratch.values, d)
	for p, y := range e.rows.label {
		share := 1 / float32(labelled)
		switch {
		case y >= 0:
		case p < e.rows.n:
			share = -1 / float32(e.rows.unlabelled)
		default:
			continue
		}
		kernel.Axpy(share, e.rows.v[p*d:p*d+d], e.scratch.values)
	}
	for p, y := range e.rows.label[:e.rows.n] {
		if y < 0 {
			kernel.Axpy(1, e.scratch.values, e.rows.v[p*d:p*d+d])
		}
	}
}
