package evaluate

import (
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// model holds the terms of E and R of a partition: rows, graph, and the cost of a row in a cluster.
type model struct {
	rows          []float32
	n, d, k       int
	graph         *index.Affinity
	lambda        float64
	modes         bool
	tau           float64
	kappa, sigma2 float64
}

func newModel(rows []float32, n, d, k int, graph *index.Affinity, s solver.Settings) *model {
	return &model{
		rows: rows, n: n, d: d, k: k, graph: graph, lambda: s.Lambda, modes: s.Method == solver.SLKModes ||
			s.Method == solver.KModes,
		tau: s.Tau, kappa: s.Kappa, sigma2: s.Sigma * s.Sigma,
	}
}

func (m *model) row(p int) []float32 { return m.rows[p*m.d : p*m.d+m.d] }

// oneHot returns S of a partition.
func (m *model) oneHot(labels []int32) []float64 {
	s := make([]float64, m.n*m.k)
	for p, c := range labels {
		s[p*m.k+int(c)] = 1
	}
	return s
}

// prototypes fits C to S: weighted means, and for modes the mean-shift fixed point from there.
func (m *model) prototypes(s []float64, from []float32) []float32 {
	centres := append([]float32(nil), from...)
	if centres == nil || !m.modes {
		centres = make([]float32, m.k*m.d)
		m.shift(centres, s, false)
	}
	if m.modes {
		for range 100 {
			if m.shift(centres, s, true) < 1e-6 {
				break
			}
		}
	}
	return centres
}

// shift moves each centre to the mean of the rows weighted by S and, if near is set, by the kernel at the
// centre. It returns the largest relative move. Each cluster is computed on one goroutine, so that sums do
// not depend on the number of cores.
func (m *model) shift(centres []float32, s []float64, near bool) float64 {
	moves := make([]float64, m.k)
	inParallel(m.k, func(from, to int) {
		sum := make([]float64, m.d)
		for c := from; c < to; c++ {
			centre := centres[c*m.d : c*m.d+m.d]
			clear(sum)
			total := 0.
			for p := range m.n {
				w := s[p*m.k+c]
				if w < 1e-12 {
					continue
				}
				if near {
					w *= math.Exp(-float64(kernel.SquaredDistance(m.row(p), centre)) / (2 * m.sigma2))
				}
				total += w
				for j, v := range m.row(p) {
					sum[j] += w * float64(v)
				}
			}
			if total == 0 {
				continue
			}
			var move, length float64
			for j := range centre {
				v := sum[j] / total
				move += (v - float64(centre[j])) * (v - float64(centre[j]))
				length += v * v
				centre[j] = float32(v)
			}
			moves[c] = math.Sqrt(move / max(length, 1e-30))
		}
	})
	worst := 0.
	for _, v := range moves {
		worst = max(worst, v)
	}
	return worst
}

// costs returns a_pk for all rows and centres.
func (m *model) costs(centres []float32) []float64 {
	a := make([]float64, m.n*m.k)
	inParallel(m.n, func(from, to int) {
		for p := from; p < to; p++ {
			for c := range m.k {
				d2 := float64(kernel.SquaredDistance(m.row(p), centres[c*m.d:c*m.d+m.d]))
				if m.modes {
					a[p*m.k+c] = -m.kappa * math.Exp(-d2/(2*m.sigma2))
				} else {
					a[p*m.k+c] = m.tau * d2
				}
			}
		}
	})
	return a
}

// discrete returns E of a partition, with prototypes fitted to it: sum_p a + (lambda/4) sum_pq w |s_p -
// s_q|^2; R of the same one-hot S, which is E without the constant (lambda/2) sum_pq w; and graphPart, the
// second term of E, which the paper weighs twice as much.
func (m *model) discrete(labels []int32) (energy, objective, graphPart float64) {
	a := m.costs(m.prototypes(m.oneHot(labels), nil))
	var data, cut, all float64
	for p, c := range labels {
		data += a[p*m.k+int(c)]
		columns, weights := m.graph.Row(p)
		for j, q := range columns {
			all += float64(weights[j])
			if labels[q] != c {
				cut += float64(weights[j])
			}
		}
	}
	graphPart = m.lambda / 2 * cut
	return data + graphPart, data + graphPart - m.lambda/2*all, graphPart
}
