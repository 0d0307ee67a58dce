package solver

import (
	"context"
	"math"

	"slkstream/internal/kernel"
)

// descend runs the block minimisations: C from labelled rows and prior, S = softmax(-a + beta log pi0), then sweeps of S,
// steps of C and of pi until S stands still.
func (e *episode) descend(ctx context.Context, r *Result) error {
	e.clamp()
	e.prototypes()
	e.sweep(false)
	e.note(r, true)
	r.ObjectiveBefore, r.EnergyBefore = e.objective(), e.energy()
	outer, inner := e.Outer, e.Inner
	if e.fixed {
		outer, inner = 1, 20
	}
	if e.Method == "nearest" {
		inner = 0
	}
	r.Stopped = "outer"
	for r.Iterations < outer && r.Stopped == "outer" {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.Iterations++
		if e.Restart {
			e.sweep(false)
			e.note(r, false)
		}
		for i := range inner {
			change := e.sweep(true)
			r.Sweeps++
			e.note(r, false)
			if change <= e.Tolerance {
				if i == 0 || e.fixed {
					r.Stopped = "tolerance"
				}
				break
			}
		}
		if e.fixed {
			break
		}
		e.prototypes()
		e.note(r, false)
		if e.beta > 0 {
			e.proportions()
			e.note(r, false)
		}
	}
	r.ObjectiveAfter, r.EnergyAfter = e.objective(), e.energy()
	return nil
}

// note keeps the trace of R and counts its rises.
func (e *episode) note(r *Result, first bool) {
	if !e.Check {
		return
	}
	now := e.objective()
	if !first {
		if before := r.Trace[len(r.Trace)-1]; now > before+1e-5*max(1, math.Abs(before)) {
			r.Rises++
		}
	}
	r.Trace = append(r.Trace, now)
}

// clamp makes labelled rows one-hot; nothing else writes to them.
func (e *episode) clamp() {
	for p, y := range e.label[:e.n] {
		if y >= 0 {
			e.s[p*e.k+int(y)] = 1
		}
	}
}

// sweep updates each unlabelled row in place, in order: s_p = softmax(-a_p + lambda (W S + b)_p + beta log pi). A point's
// update is the exact minimiser of R in s_p with all else fixed (Gauss-Seidel), so R falls for every symmetric W; updating
// all points at once does not, when lambda times the lowest eigenvalue of W is below -2. It returns the mean L1 change.
func (e *episode) sweep(graph bool) float64 {
	k, d := e.k, e.d
	score := make([]float32, k)
	base := make([]float32, k) // -a without the part of x alone, + beta log pi
	length := make([]float64, k)
	for c := range k {
		prototype := e.c[c*d : c*d+d]
		for _, v := range prototype {
			length[c] += float64(v) * float64(v)
		}
		b := 0.
		if !e.modes {
			b = -e.tau * psi(e.pull, length[c])
		}
		if e.beta > 0 {
			b += e.beta * math.Log(e.pi[c])
		}
		base[c] = float32(b)
	}
	var change float64
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		row := e.u[p*d : p*d+d]
		kernel.Products(score, row, e.c, 1, k, d)
		if e.modes {
			own := float64(kernel.Dot(row, row))
			for c := range k {
				score[c] = base[c] - float32(e.cost(own, float64(score[c]), length[c]))
			}
		} else {
			for c := range k {
				score[c] = base[c] + float32(2*e.tau)*score[c]
			}
		}
		if graph && e.lambda > 0 {
			columns, weights := e.graph.Row(p)
			for j, q := range columns {
				w := float32(e.lambda) * weights[j]
				if y := e.label[q]; y >= 0 {
					score[y] += w
				} else {
					kernel.Axpy(w, e.s[int(q)*k:int(q)*k+k], score)
				}
			}
		}
		kernel.Softmax(score)
		s := e.s[p*k : p*k+k]
		for c, v := range score {
			change += math.Abs(float64(v - s[c]))
		}
		copy(s, score)
	}
	return change / float64(max(1, e.unlabelled))
}

// prototypes sets each C_k to its exact minimiser; a class whose mass has underflowed to zero keeps its prototype, as R
// no longer depends on it.
func (e *episode) prototypes() {
	hard := e.s
	if e.HardStep {
		hard = make([]float32, len(e.s))
		for p := range e.n {
			if e.label[p] < 0 {
				hard[p*e.k+e.answer(p)] = 1
			}
		}
	}
	if !e.started() {
		hard = nil
	}
	if e.modes {
		e.shift(hard)
		return
	}
	e.means(hard, nil)
	for c := range e.k {
		e.pullToSphere(e.c[c*e.d : c*e.d+e.d])
	}
}

// started says that S holds something: before the first sweep only labelled rows and the prior count.
func (e *episode) started() bool {
	for p, y := range e.label[:e.n] {
		if y < 0 {
			var sum float32
			for _, v := range e.s[p*e.k : p*e.k+e.k] {
				sum += v
			}
			return sum > 0
		}
	}
	return true
}

// pullToSphere divides a mean by |m|^u.
func (e *episode) pullToSphere(m []float32) {
	if e.pull == 0 {
		return
	}
	if l := float64(kernel.Dot(m, m)); l > 0 {
		kernel.Scale(float32(math.Pow(l, -e.pull/2)), m)
	}
}

// means sets C to the mean of everything that counts for a class, each row's share times density where given.
func (e *episode) means(s []float32, density []float32) {
	k, d := e.k, e.d
	sum := make([]float64, k)
	next := make([]float32, k*d)
	clear(e.mass)
	add := func(p, c int, share float32) {
		e.mass[c] += float64(share)
		if density != nil {
			share *= density[p*k+c]
		}
		if share > 0 {
			sum[c] += float64(share)
			kernel.Axpy(share, e.u[p*d:p*d+d], next[c*d:c*d+d])
		}
	}
	for p, y := range e.label {
		if y >= 0 {
			add(p, int(y), e.weight[p])
		} else if s != nil {
			for c, v := range s[p*k : p*k+k] {
				add(p, c, v)
			}
		}
	}
	for c := range k {
		if sum[c] > 0 {
			kernel.Scale(float32(1/sum[c]), next[c*d:c*d+d])
			copy(e.c[c*d:c*d+d], next[c*d:c*d+d])
		}
	}
}

// shift moves each prototype to a mode: the mean-shift fixed point from where it is, to a relative tolerance of its
// density. Each shift raises the density, so that stopping early descends too. The limit depends on the start.
func (e *episode) shift(s []float32) {
	k, d := e.k, e.d
	if s == nil {
		e.means(nil, nil) // the start of the first shift
	}
	density := make([]float32, e.rows*k)
	last := make([]float64, k)
	for range 100 {
		total := make([]float64, k)
		for p, y := range e.label {
			for c := range k {
				if y >= 0 && int(y) != c || y < 0 && s == nil {
					continue
				}
				near := math.Exp(-float64(kernel.SquaredDistance(e.u[p*d:p*d+d], e.c[c*d:c*d+d])) / (2 * e.sigma2))
				density[p*k+c] = float32(near)
				share := float64(e.weight[p])
				if y < 0 {
					share = float64(s[p*k+c])
				}
				total[c] += share * near
			}
		}
		moved := false
		for c := range k {
			moved = moved || total[c] > last[c]*(1+1e-6)
		}
		copy(last, total)
		if !moved {
			break
		}
		e.means(s, density)
	}
}

// proportions sets pi_k = (sum_p s_pk + cpi pi0_k) / (n + cpi).
func (e *episode) proportions() {
	k := e.k
	total := float64(e.unlabelled) + e.cpi
	for c := range k {
		e.pi[c] = e.cpi * e.pi0[c] / total
	}
	for p, y := range e.label[:e.n] {
		if y < 0 {
			for c, v := range e.s[p*k : p*k+k] {
				e.pi[c] += float64(v) / total
			}
		}
	}
}

// finish fills the result from the episode.
func (e *episode) finish(p *Problem, r *Result) {
	k, d := e.k, e.d
	r.Labels = make([]int32, e.n)
	r.S = make([]float32, e.n*p.K)
	r.Prototypes, r.Masses = make([]float32, p.K*d), make([]float32, p.K)
	for i := range e.n {
		r.Labels[i] = e.class[e.answer(i)]
		for c, v := range e.s[i*k : i*k+k] {
			r.S[i*p.K+int(e.class[c])] = v
		}
		if p.labelled(i) && r.Labels[i] != p.Labels[i] {
			r.LostSupports++
		}
	}
	for c, class := range e.class {
		copy(r.Prototypes[int(class)*d:int(class)*d+d], e.c[c*d:c*d+d])
		r.Masses[class] = float32(e.mass[c])
	}
	r.Z, r.AnchorZ = e.z[:e.n*d], e.z[e.n*d:]
	r.Affinity = e.graph
	if p.Assess {
		e.assess(r)
	}
}
