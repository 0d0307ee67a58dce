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

// embed fills z from the raw values of items and of anchors that are rows, and prepares the labelled rows
// beside the episode.
func (e *episode) embed(p *Problem) error {
	d, l := e.d, e.beside.prepared
	e.z, e.mean, e.inverse = vector.Resize(e.z, e.n*d), vector.Resize(e.mean, d), vector.Resize(e.inverse, e.n)
	if p.Embedding != nil && p.Embedding.Mean != nil {
		copy(e.mean, p.Embedding.Mean)
	} else {
		e.findMean(p)
	}
	e.faults = vector.Resize(e.faults, (e.n+tile-1)/tile)
	e.pool.run(len(e.faults), func(_ *worker, block int) {
		e.faults[block] = e.embedSome(p, block*tile, min(e.n, (block+1)*tile))
	})
	for _, bad := range e.faults {
		if bad >= 0 {
			return e.fault(p, bad)
		}
	}
	if len(p.AnchorLabels) > 0 {
		e.beside.loose.centre(e.mean)
		if vector.NotFinite(e.beside.loose.squares) >= 0 {
			return e.fault(p, e.n)
		}
	}
	var learned *metric.Metric
	if p.Embedding != nil {
		learned = p.Embedding.Metric
	}
	l.prepare(e.beside.list, e.mean, learned, &e.beside.preparing)
	if e.apart && e.anchors > 0 {
		e.z, _ = e.beside.z(e.z, true)
	}
	e.mapRows(p)
	return nil
}

// embedSome fills z for items [from, to) and returns the first whose embedding is not finite, -1 if
// there is none.
func (e *episode) embedSome(p *Problem, from, to int) int {
	d := e.d
	for q := from; q < to; q++ {
		row := e.z[q*d : q*d+d]
		Raise(row, p.raw(q), e.settings.Power)
		square := kernel.Difference(row, row, e.mean)
		e.inverse[q] = 0
		if inverse := 1 / math.Sqrt(float64(square)); inverse <= math.MaxFloat32 {
			e.inverse[q] = float32(inverse)
		}
		if square > 1e-20 && square < 1e20 { // as vector.Unit
			kernel.Scale(e.inverse[q], row)
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
		if q >= e.n {
			return fmt.Errorf("anchor %d: "+format, append([]any{q - e.n}, args...)...)
		}
		return rowError(q, format, args...)
	}
	for i := range e.n + len(p.AnchorLabels) {
		row := p.raw(i)
		if j := vector.NotFinite(row); j >= 0 {
			return fault(i, "value %g at %d is not finite", row[j], j)
		}
	}
	return fault(q, "its values overflow when raised to the power %g and centred", e.settings.Power)
}

// mapRows fills v, by and along of all rows; v of means only for the row-space engine. u = metric(v) has
// length 1 for items and anchors, |m'| for a prior prototype, and keeps its length for a mean of labelled
// rows.
func (e *episode) mapRows(p *Problem) {
	d, own, m, rows := e.d, len(e.z)/e.d, e.beside.metric, e.rows
	if e.usesGram {
		rows = e.means
	}
	if b := &e.beside; e.means < e.rows {
		b.added = b.prepared.added(b.list, &b.preparing)
	}
	measured := 0 // rows whose square is known
	e.by, e.square = vector.Resize(e.by, e.rows), vector.Resize(e.square, e.rows)
	e.own = vector.Resize(e.own, e.rows)
	if m == nil && rows == own && !e.settings.Paper.BiasCorrection {
		e.v = e.z // shared, as it is only read
	} else {
		e.mapped = vector.Resize(e.mapped, rows*d)
		e.v = e.mapped
		if m == nil {
			copy(e.v, e.z)
		} else {
			for ; measured < own; measured++ {
				at := measured * d
				e.square[measured] = kernel.Difference(e.v[at:at+d], e.z[at:at+d], m.Centre)
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
		for q := own; q < e.means; q++ { // the labelled rows in a mean are centred already
			kernel.Axpy(-1, m.Centre, e.v[q*d:q*d+d])
		}
		e.along = vector.Resize(e.along, e.means*directions)
		kernel.Products(e.along, m.Vectors, e.v[:e.means*d], directions, e.means, d)
		for r, s := range m.Scales {
			kernel.Scale(alongScale(s), e.along[r*e.means:(r+1)*e.means])
		}
	}
	for q := measured; q < e.means; q++ {
		e.square[q] = kernel.Dot(e.v[q*d:q*d+d], e.v[q*d:q*d+d])
	}
	copy(e.own, e.square)
	for q := e.means; q < e.rows; q++ {
		e.own[q] = e.beside.prepared.lengths[e.class[e.fixed[q]]] / (e.count[q] * e.count[q])
	}
	for q := range e.by {
		e.by[q] = 1
	}
	if m == nil {
		return
	}
	for r, s := range m.Scales {
		sign := float32(-1)
		if s > 1 {
			sign = 1
		}
		for q, v := range e.along[r*e.means : (r+1)*e.means] {
			e.own[q] += sign * v * v
		}
	}
	for q, length := range e.own[:e.means] {
		length, target := max(0, length), float32(1)
		if q >= own {
			target = e.priorSquare[e.fixed[q]]
		}
		if e.by[q] = 0; length > leastLength {
			e.by[q] = float32(math.Sqrt(float64(target) / float64(length)))
		}
		kernel.Scale(e.by[q], e.v[q*d:q*d+d])
		e.own[q] = length * e.by[q] * e.by[q]
	}
	for from := 0; from < len(e.along); from += e.means {
		along := e.along[from : from+e.means]
		for q := range along {
			along[q] *= e.by[q]
		}
	}
}

// addHeld fills v of rows from to to-1: of the prior prototypes, then of the means of labelled rows beside the
// episode.
func (e *episode) addHeld(p *Problem, from, to int) {
	d := e.d
	e.priorSquare = vector.Resize(e.priorSquare, e.k)
	for q := from; q < to; q++ {
		row := e.v[q*d : q*d+d]
		if q >= e.means {
			sum, share := e.meanRow(q)
			copy(row, sum)
			kernel.Scale(share, row)
		} else {
			p.Prior.mean(row, e.mean, int(e.class[e.fixed[q]]))
			e.priorSquare[e.fixed[q]] = kernel.Dot(row, row)
		}
	}
}

// meanRow returns a mean of labelled rows beside the episode, like v, as a sum of rows and a factor.
func (e *episode) meanRow(q int) (sum []float32, share float32) {
	at := int(e.class[e.fixed[q]]) * e.d
	return e.beside.added[at : at+e.d], 1 / e.count[q]
}

// shrinkRows turns v into u in place for the row-space engine. The Gram-space engine uses its matrix instead.
func (e *episode) shrinkRows() {
	if e.usesGram || e.points != nil {
		return
	}
	e.u = e.v
	if m := e.beside.metric; m != nil {
		const some = 1 << 12
		for from := 0; from < len(e.u); from += some * e.d {
			rows := e.u[from:min(from+some*e.d, len(e.u))]
			e.scratch = vector.Resize(e.scratch, len(rows)/e.d*len(m.Scales))
			m.Shrink(rows, e.scratch)
		}
	}
	e.pool.run((e.rows+tile-1)/tile, func(_ *worker, block int) {
		for p := block * tile; p < min(e.rows, (block+1)*tile); p++ {
			row := e.u[p*e.d : p*e.d+e.d]
			e.own[p] = kernel.Dot(row, row)
		}
	})
}

// aroundMeans returns the part of R, before the factor tau, that is lost when labelled rows are replaced by
// the mean of their class: ws (sum |u|^2 - count |mean|^2), summed over classes.
func (e *episode) aroundMeans() (sum float64) {
	if e.apart {
		return 0
	}
	for q := e.n; q < e.rows; q++ {
		if count := float64(e.count[q]); count > 0 {
			sum += e.ws * (e.beside.prepared.unit[e.class[e.fixed[q]]] - count*float64(e.own[q]))
		}
	}
	return sum
}

// correctBias adds the mean of the labelled rows less that of the unlabelled rows to each unlabelled row.
func (e *episode) correctBias() {
	labelled := 0
	for _, y := range e.label {
		if y >= 0 {
			labelled++
		}
	}
	if e.unlabelled == 0 || labelled == 0 {
		return
	}
	d := e.d
	e.scratch = vector.Zeroed(e.scratch, d)
	for p, y := range e.label {
		share := 1 / float32(labelled)
		switch {
		case y >= 0:
		case p < e.n:
			share = -1 / float32(e.unlabelled)
		default:
			continue
		}
		kernel.Axpy(share, e.v[p*d:p*d+d], e.scratch)
	}
	for p, y := range e.label[:e.n] {
		if y < 0 {
			kernel.Axpy(1, e.scratch, e.v[p*d:p*d+d])
		}
	}
}
