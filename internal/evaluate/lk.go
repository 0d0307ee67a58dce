package evaluate

import (
	"context"
	"math"
	"slices"
)

// laplacianKModes is LK, the convex relaxation with which the paper compares SLK (Wang and
// Carreira-Perpinan). It has the same data and graph terms, and alternates between minimising (lambda/2)
// tr(S'LS) over the simplex by accelerated projected gradient for fixed modes, and mean shift for fixed S. It
// starts from a partition.
func laplacianKModes(ctx context.Context, m *model, start []int32) ([]int32, error) {
	s := m.oneHot(start)
	degree := make([]float64, m.n)
	most := 0.
	for p := range m.n {
		_, weights := m.graph.Row(p)
		for _, w := range weights {
			degree[p] += float64(w)
		}
		most = max(most, degree[p])
	}
	var centres []float32
	last := math.Inf(1)
	for range 50 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		centres = m.prototypes(s, centres)
		a := m.costs(centres)
		m.relax(s, a, degree, 1/(2*m.lambda*max(most, 1e-9)+1e-9))
		value := m.relaxed(s, a, degree)
		if last-value <= 1e-7*math.Abs(value) {
			break
		}
		last = value
	}
	return m.hardest(s), nil
}

// relax minimises sum s.a + (lambda/2) tr(S'LS) over the simplex, from s, by steps of the given length with
// Nesterov's momentum, which restarts after an overshoot.
func (m *model) relax(s, a, degree []float64, step float64) {
	k := m.k
	ahead, old, gradient := slices.Clone(s), make([]float64, len(s)), make([]float64, len(s))
	t := 1.
	for range 500 {
		copy(old, s)
		inParallel(m.n, func(from, to int) {
			for p := from; p < to; p++ {
				row := gradient[p*k : p*k+k]
				for c := range row {
					row[c] = a[p*k+c] + m.lambda*degree[p]*ahead[p*k+c]
				}
				columns, weights := m.graph.Row(p)
				for j, q := range columns {
					w := m.lambda * float64(weights[j])
					for c, v := range ahead[int(q)*k : int(q)*k+k] {
						row[c] -= w * v
					}
				}
			}
		})
		inParallel(m.n, func(from, to int) {
			sorted := make([]float64, k)
			for p := from; p < to; p++ {
				row := s[p*k : p*k+k]
				for c := range row {
					row[c] = ahead[p*k+c] - step*gradient[p*k+c]
				}
				toSimplex(row, sorted)
			}
		})
		var change, against float64
		for i, v := range s {
			change += math.Abs(v - old[i])
			against += (ahead[i] - v) * (v - old[i])
		}
		next := (1 + math.Sqrt(1+4*t*t)) / 2
		momentum := (t - 1) / next
		if t = next; against > 0 { // momentum points uphill
			t, momentum = 1, 0
		}
		for i, v := range s {
			ahead[i] = v + momentum*(v-old[i])
		}
		if change < 1e-6*float64(m.n) {
			return
		}
	}
}

// toSimplex projects a row onto the probability simplex; sorted is scratch space.
func toSimplex(row, sorted []float64) {
	copy(sorted, row)
	slices.Sort(sorted)
	sum, shift := 0., 0.
	for i := len(sorted) - 1; i >= 0; i-- {
		sum += sorted[i]
		if candidate := (sum - 1) / float64(len(sorted)-i); sorted[i] > candidate {
			shift = candidate
		}
	}
	for c, v := range row {
		row[c] = max(0, v-shift)
	}
}

// relaxed returns sum s.a + (lambda/2) tr(S'LS).
func (m *model) relaxed(s, a, degree []float64) (sum float64) {
	for p := range m.n {
		row := s[p*m.k : p*m.k+m.k]
		for c, v := range row {
			sum += v*a[p*m.k+c] + m.lambda/2*degree[p]*v*v
		}
		columns, weights := m.graph.Row(p)
		for j, q := range columns {
			for c, v := range s[int(q)*m.k : int(q)*m.k+m.k] {
				sum -= m.lambda / 2 * float64(weights[j]) * row[c] * v
			}
		}
	}
	return sum
}

// hardest returns the label of each row: its largest s.
func (m *model) hardest(s []float64) []int32 {
	labels := make([]int32, m.n)
	for p := range labels {
		for c, v := range s[p*m.k : p*m.k+m.k] {
			if v > s[p*m.k+int(labels[p])] {
				labels[p] = int32(c)
			}
		}
	}
	return labels
}
