package file

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Constants are the numbers of a solve, as solver.Settings names them.
type Constants struct {
	Lambda, Tau, U, Beta, CPI, WS float64
	Drawn                         float64 // rows' weight of the file's proportions in those of a stretch
	Rho, Outer, Inner             int
	Tolerance                     float64
	MetricRank                    int
	MetricShrink                  float64
}

// labelling are the constants with support. Where a class is many rows side by side, means say less and
// neighbours more.
func (l *loaded) labelling(s *Settings) Constants {
	x := l.manifold
	return s.adjusted(Constants{
		Lambda: .8 * (1 + 1.5*x), Tau: 5 / (1 + 1.5*x), U: .75, Beta: .25, CPI: 10, Drawn: 20,
		WS: max(1, .5*math.Log2(float64(l.k))), Rho: int(math.Round(4 * (1 + x))), Outer: 12, Inner: 1, Tolerance: .01,
		MetricRank: 32, MetricShrink: .85 + .15*x,
	})
}

// clustering are the constants without support, those of solver.Clustering.
func clustering(s *Settings) Constants {
	return s.adjusted(Constants{Lambda: 2, Tau: 1, WS: 1, Rho: 5, Outer: 15, Inner: 4, Tolerance: .01})
}

// descent minimises
//
//	R = sum_p s_p . [ c a(x_p, C_b(p)) + (1-c) a(x_p, G) ] - (lambda/2) sum_pq w_pq s_p . s_q - lambda sum_p s_p . b_p
//	    + sum_p s_p . log s_p + ws sum_l [ c sum_b a(x_l, C_b,y) + (1-c) a(x_l, G_y) ]
//	    - beta sum_p s_p . [ g log pi_b(p) + (1-g) log pi ] - beta drawn sum_b sum_k pi_k log pi_bk
//
// over S, the prototypes G of the file, the prototypes C_b of each stretch b of rows, and its proportions
// pi_b; c is the coherence, pi the proportions of the start. A row is compared with the prototypes of its
// stretch as far as the order of rows means something and with those of the file for the rest. Every step is
// an exact minimiser of its block, so R falls. With c = 0 it is the objective of package solver with
// proportions that stand.
type descent struct {
	*loaded
	Constants
	c     float64 // coherence: the part of the stretch in distances
	g     float64 // the part of the stretch in proportions: all of it where a tenth of a row's nearest lie beside it
	class []int32 // that the descent sees
	graph *index.Affinity
	s     []float32 // all x k
	pi    []float64 // k

	held, heldSquare []float64 // k: weight of the labelled rows, and the sum of their squared lengths
	heldSum          vector.Matrix
	file             prototypes
	batch            []prototypes // of the stretches of a batch
	scores           []float32    // of the rows of a batch
}

// stretches of a batch: their prototypes are averaged side by side, then their rows are updated one after the
// other.
const batched = 16

// prototypes are k rows, psi of the length of each, and log proportions.
type prototypes struct {
	rows  vector.Matrix
	psi   []float64
	mass  []float64 // of the unlabelled rows
	logPi []float64
	base  []float32
}

func newPrototypes(k, d int) prototypes {
	return prototypes{vector.New(k, d), make([]float64, k), make([]float64, k), make([]float64, k), make([]float32, k)}
}

// newDescent starts at an answer for all rows: .98 one-hot where it is to be solved.
func newDescent(l *loaded, class []int32, graph *index.Affinity, c float64, constants Constants, answer []int32) *descent {
	e := &descent{loaded: l, Constants: constants, c: c, g: min(1, 10*c*c), class: class, graph: graph}
	k, d := l.k, l.points.d
	e.Beta *= 1 + e.g // proportions of a stretch say more than those of a file
	e.s, e.pi = make([]float32, l.all*k), make([]float64, k)
	share, solved := float32(.02)/float32(k), 0.
	e.held, e.heldSquare, e.heldSum = make([]float64, k), make([]float64, k), vector.New(k, d)
	scratch := l.points.scratch(1)
	for p := range l.all {
		row := e.s[p*k : p*k+k]
		if y := class[p]; y >= 0 {
			row[y] = 1
			x := l.points.rows(p, p+1, scratch)
			e.held[y] += e.WS
			e.heldSquare[y] += e.WS * float64(kernel.Dot(x, x))
			kernel.Axpy(float32(e.WS), x, e.heldSum.Row(int(y)))
			continue
		}
		for i := range row {
			row[i] = share
		}
		row[answer[p]] += .98
		e.pi[answer[p]]++
		solved++
	}
	for i, n := range e.pi {
		e.pi[i] = (n + (e.CPI+1e-9)/float64(k)) / (solved + e.CPI + 1e-9)
	}
	e.file = newPrototypes(k, d)
	for range batched {
		if c > 0 {
			e.batch = append(e.batch, newPrototypes(k, d))
		}
	}
	e.scores = make([]float32, batched*stretch*k)
	return e
}

// psi_u(r) = 2(1-u)/(2-u) r^((2-u)/(1-u)) at r = |C|, for u below 1.
func psi(u, length float64) float64 { return 2 * (1 - u) / (2 - u) * math.Pow(length, (2-u)/(1-u)) }

// add adds the unlabelled rows from up to to, weighed by S, to sums and masses.
func (e *descent) add(from, to int, sum []float32, mass []float64) {
	k, d := e.k, e.points.d
	scratch := e.points.scratch(stretch)
	weights := make([]float32, stretch*k)
	for lo := from; lo < to; lo += stretch {
		hi := min(to, lo+stretch)
		rows := e.points.rows(lo, hi, scratch)
		copy(weights, e.s[lo*k:hi*k])
		for p := lo; p < hi; p++ {
			own := weights[(p-lo)*k : (p-lo+1)*k]
			if e.class[p] >= 0 {
				clear(own)
			}
			for c, v := range own {
				mass[c] += float64(v)
			}
		}
		kernel.Accumulate(sum, weights[:(hi-lo)*k], rows, hi-lo, k, d)
	}
}

// average turns sums into prototypes, C = m / |m|^u with m the weighted mean of labelled and unlabelled rows:
// the minimiser of R.
func (e *descent) average(at *prototypes) {
	for c := range e.k {
		row := at.rows.Row(c)
		kernel.Axpy(1, e.heldSum.Row(c), row)
		if mass := at.mass[c] + e.held[c]; mass > 0 {
			kernel.Scale(float32(1/mass), row)
		}
		length := math.Sqrt(float64(kernel.Dot(row, row)))
		if length > 0 {
			kernel.Scale(float32(math.Pow(length, -e.U)), row)
			at.psi[c] = psi(e.U, math.Pow(length, 1-e.U))
		} else {
			at.psi[c] = 0
		}
	}
}

// averageFile is the step of G.
func (e *descent) averageFile() {
	k, d := e.k, e.points.d
	parts := max(1, min(64, chunks(e.n), 1<<24/(k*d))) // of the problem, not of the cores
	size := (e.n + parts - 1) / parts
	sums, masses := make([][]float32, parts), make([][]float64, parts)
	eachOf(parts, func(i int) {
		sums[i], masses[i] = make([]float32, k*d), make([]float64, k)
		e.add(i*size, min(e.n, (i+1)*size), sums[i], masses[i])
	})
	clear(e.file.rows.Values)
	clear(e.file.mass)
	for i := range parts {
		kernel.Axpy(1, sums[i], e.file.rows.Values)
		for c, v := range masses[i] {
			e.file.mass[c] += v
		}
	}
	e.average(&e.file)
	for c := range e.pi {
		e.file.logPi[c] = math.Log(e.pi[c])
	}
	e.base(&e.file, 1-e.c, 1-e.g)
}

// averageStretch is the step of C_b and pi_b for rows from up to to.
func (e *descent) averageStretch(at *prototypes, from, to int) {
	clear(at.rows.Values)
	clear(at.mass)
	e.add(from, to, at.rows.Values, at.mass)
	e.average(at)
	total := 0.
	for _, v := range at.mass {
		total += v
	}
	for c, v := range at.mass {
		at.logPi[c] = math.Log((e.g*v + e.Drawn*e.pi[c]) / (e.g*total + e.Drawn))
	}
	e.base(at, e.c, e.g)
}

// base is what the scores of all rows share, in the given parts.
func (e *descent) base(at *prototypes, ofDistance, ofProportions float64) {
	for c := range e.k {
		at.base[c] = float32(ofProportions*e.Beta*at.logPi[c] - ofDistance*e.Tau*at.psi[c])
	}
}

// sweep updates each stretch: its prototypes and proportions, then the S of its rows one after the other. It
// returns the mean L1 change of S.
func (e *descent) sweep(told progress) float64 {
	k, d := e.k, e.points.d
	change, solved := 0., 0
	for first := 0; first < e.n; first += batched * stretch {
		last := min(e.n, first+batched*stretch)
		told(first, e.n)
		eachOf((last-first+stretch-1)/stretch, func(i int) {
			from, to := first+i*stretch, min(last, first+(i+1)*stretch)
			scores := e.scores[(from-first)*k : (to-first)*k]
			rows := e.points.rows(from, to, e.points.scratch(stretch))
			kernel.Products(scores, rows, e.file.rows.Values, to-from, k, d)
			kernel.Scale(float32(2*e.Tau*(1-e.c)), scores)
			if e.c > 0 {
				own := &e.batch[i]
				e.averageStretch(own, from, to)
				products := make([]float32, len(scores))
				kernel.Products(products, rows, own.rows.Values, to-from, k, d)
				kernel.Axpy(float32(2*e.Tau*e.c), products, scores)
			}
			for lo := 0; lo < len(scores); lo += k {
				kernel.Axpy(1, e.file.base, scores[lo:lo+k])
				if e.c > 0 {
					kernel.Axpy(1, e.batch[i].base, scores[lo:lo+k])
				}
			}
		})
		for p := first; p < last; p++ {
			if e.class[p] >= 0 {
				continue
			}
			row := e.scores[(p-first)*k : (p-first+1)*k]
			columns, weights := e.graph.Row(p)
			for j, q := range columns {
				kernel.Axpy(float32(e.Lambda)*weights[j], e.s[int(q)*k:int(q)*k+k], row)
			}
			kernel.Softmax(row)
			own := e.s[p*k : p*k+k]
			for c, v := range row {
				change += math.Abs(float64(v - own[c]))
			}
			copy(own, row)
			solved++
		}
	}
	return change / float64(max(1, solved))
}

// rounding is by how much R may rise in a half-step because S and prototypes are float32: by a few of the
// last bits of each row's terms.
func (e *descent) rounding() float64 {
	mass := float64(e.n)
	for _, held := range e.held {
		mass += held
	}
	return mass * (1 + e.Lambda + e.Tau) / (1 << 22)
}

// run descends until S stands still, and fills in what the result says of it.
func (e *descent) run(ctx context.Context, check bool, told progress, r *Result) error {
	note := func() {
		if !check {
			return
		}
		now := e.objective()
		if n := len(r.Trace); n > 0 && now > r.Trace[n-1]+e.rounding() {
			r.Rises++
		}
		r.Trace = append(r.Trace, now)
	}
	e.averageFile()
	note()
	for step := 0; step < e.Outer; step++ {
		for i := range e.Inner {
			if err := ctx.Err(); err != nil {
				return err
			}
			sweep := step*e.Inner + i
			change := e.sweep(func(done, total int) { told(sweep*total+done, e.Outer*e.Inner*total) })
			r.Sweeps++
			note()
			if change <= e.Tolerance {
				if i == 0 {
					step = e.Outer
				}
				break
			}
		}
		if step >= e.Outer {
			break
		}
		e.averageFile()
		note()
	}
	return nil
}
