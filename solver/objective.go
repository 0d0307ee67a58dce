package solver

import "math"

// objective is R as written, summed in float64: the one function that tests and Settings.Check hold the descent to.
//
//	R = sum_p s_p . a_p - (lambda/2) sum_pq w_pq s_p . s_q - lambda sum_p s_p . b_p + sum_p s_p . log s_p
//	    + sum_labelled ws a + sum_k pw_k a(m'_k, C_k) - beta [ sum_p s_p . log pi + cpi sum_k pi0_k log pi_k ]
//
// A row of S is read as s / sum s, so that the float32 rounding of its sum is not taken for a rise or a fall.
func (e *episode) objective() float64 {
	cost := e.costs()
	k := e.k
	s := make([]float64, len(e.s))
	for p := range e.n {
		var sum float64
		for c := range k {
			sum += float64(e.s[p*k+c])
		}
		for c := range k {
			s[p*k+c] = float64(e.s[p*k+c]) / sum
		}
	}
	var r float64
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		row := s[p*k : p*k+k]
		columns, weights := e.graph.Row(p)
		for c, v := range row {
			if v <= 0 {
				continue
			}
			r += v * (cost[p*k+c] + math.Log(v))
			if e.beta > 0 {
				r -= e.beta * v * math.Log(e.pi[c])
			}
		}
		for j, q := range columns {
			w := e.lambda * float64(weights[j])
			if y := e.label[q]; y >= 0 {
				r -= w * row[y]
				continue
			}
			var dot float64
			for c, v := range row {
				dot += v * s[int(q)*k+c]
			}
			r -= w / 2 * dot
		}
	}
	for p, y := range e.label {
		if y >= 0 {
			r += float64(e.weight[p]) * cost[p*k+int(y)]
		}
	}
	if e.beta > 0 {
		for c, v := range e.pi0 {
			if v > 0 {
				r -= e.beta * e.cpi * v * math.Log(e.pi[c])
			}
		}
	}
	return r
}

// energy is E, the discrete objective at one-hot labels: sum_p a_{p,label} + (lambda/4) sum_pq w_pq |s_p - s_q|^2. A
// labelled neighbour is a pair that is met from one side only, and counts as both.
func (e *episode) energy() float64 {
	cost := e.costs()
	k := e.k
	var sum float64
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		own := e.answer(p)
		sum += cost[p*k+own]
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			other, share := int(e.label[q]), 1.
			if other < 0 {
				other, share = e.answer(int(q)), .5
			}
			if other != own {
				sum += e.lambda * share * float64(weights[j])
			}
		}
	}
	return sum
}

// answer is the class of point p: its largest s, the first of equals.
func (e *episode) answer(p int) int {
	row := e.s[p*e.k : p*e.k+e.k]
	best := 0
	for c, v := range row {
		if v > row[best] {
			best = c
		}
	}
	return best
}

// costs is a_pk for every row and class in float64.
func (e *episode) costs() []float64 {
	out := make([]float64, e.rows*e.k)
	for c := range e.k {
		prototype := e.c[c*e.d : c*e.d+e.d]
		var length float64
		for _, v := range prototype {
			length += float64(v) * float64(v)
		}
		for p := range e.rows {
			row := e.u[p*e.d : p*e.d+e.d]
			var dot, own float64
			for i, v := range row {
				dot += float64(v) * float64(prototype[i])
				own += float64(v) * float64(v)
			}
			out[p*e.k+c] = e.cost(own, dot, length)
		}
	}
	return out
}

// cost is a for |x|^2, x.C and |C|^2.
func (e *episode) cost(own, dot, length float64) float64 {
	if e.modes {
		return -e.kappa * math.Exp(-max(0, own-2*dot+length)/(2*e.sigma2))
	}
	return e.tau * (own - 2*dot + psi(e.pull, length))
}

// psi is psi_u(|C|) of a squared length: the term whose minimiser is C = m / |m|^u.
func psi(u, length float64) float64 {
	if u == 0 {
		return length
	}
	if u == 1 {
		return 0
	}
	return 2 * (1 - u) / (2 - u) * math.Pow(length, (2-u)/(2-2*u))
}
