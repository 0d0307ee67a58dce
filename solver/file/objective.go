package file

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
)

// objective is R in float64, with C_b and pi_b at their minimisers for the present S: they are kept for no
// longer than a batch.
func (e *descent) objective() float64 {
	k, d := e.k, e.points.d
	parts := (e.n + stretch - 1) / stretch
	sums := make([]float64, parts)
	eachOf(parts, func(i int) {
		from, to := i*stretch, min(e.n, (i+1)*stretch)
		rows := e.points.rows(from, to, e.points.scratch(stretch))
		var own prototypes
		if e.c > 0 {
			own = newPrototypes(k, d)
			e.averageStretch(&own, from, to)
			sums[i] += e.c*e.heldCost(&own) - e.Beta*e.Drawn*cross(e.pi, own.logPi)
		}
		far, near := make([]float32, (to-from)*k), make([]float32, (to-from)*k)
		kernel.Products(far, rows, e.file.rows.Values, to-from, k, d)
		if e.c > 0 {
			kernel.Products(near, rows, own.rows.Values, to-from, k, d)
		}
		for p := from; p < to; p++ {
			if e.class[p] < 0 {
				at := p - from
				sums[i] += e.ofRow(p, product(rows[at*d:at*d+d], rows[at*d:at*d+d]), far[at*k:at*k+k], near[at*k:at*k+k], &own)
			}
		}
	})
	total := (1 - e.c) * e.heldCost(&e.file)
	for _, v := range sums {
		total += v
	}
	return total
}

// ofRow is what R holds of an unlabelled row: from its squared length, its products with the prototypes of
// the file and with own, those of its stretch.
func (e *descent) ofRow(p int, square float64, far, near []float32, own *prototypes) float64 {
	k, sum := e.k, 0.
	around := make([]float64, k) // (W S + b)_p, of which pairs count half
	columns, weights := e.graph.Row(p)
	for j, q := range columns {
		w := float64(weights[j])
		if e.class[q] < 0 && int(q) < e.n { // a pair that is met from both sides
			w /= 2
		}
		for c, v := range e.s[int(q)*k : int(q)*k+k] {
			around[c] += w * float64(v)
		}
	}
	for c, v := range e.s[p*k : p*k+k] {
		if v < 1e-10 { // what is left out is below rounding
			continue
		}
		s := float64(v)
		cost := (1-e.c)*(e.Tau*(square-2*float64(far[c])+e.file.psi[c])) - (1-e.g)*e.Beta*e.file.logPi[c]
		if e.c > 0 {
			cost += e.c*(e.Tau*(square-2*float64(near[c])+own.psi[c])) - e.g*e.Beta*own.logPi[c]
		}
		sum += s * (cost + math.Log(s) - e.Lambda*around[c])
	}
	return sum
}

// heldCost is sum_l ws a(x_l, C_y) over the labelled rows.
func (e *descent) heldCost(at *prototypes) float64 {
	sum := 0.
	for c := range e.k {
		sum += e.Tau * (e.heldSquare[c] - 2*product(e.heldSum.Row(c), at.rows.Row(c)) + e.held[c]*at.psi[c])
	}
	return sum
}

func product(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

func cross(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
