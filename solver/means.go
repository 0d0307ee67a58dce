package solver

import (
	"context"
	"fmt"
	"math"

	"slkstream/index"
	"slkstream/internal/kernel"
)

// Solve labels the unlabelled rows of p by descending R from the labelled ones.
func (s *Solver) Solve(ctx context.Context, p *Problem) (*Result, error) {
	if p.N*p.D != len(p.Rows) || p.K < 1 || p.N < 1 {
		return nil, fmt.Errorf("problem: %d values, %d rows of dimension %d, %d classes", len(p.Rows), p.N, p.D, p.K)
	}
	n, d, k, m := p.N, p.D, p.K, len(p.AnchorLabels)
	all := n + m
	x := make([]float32, all*d)
	copy(x, p.Rows)
	copy(x[n*d:], p.Anchors)
	labels := make([]int32, all)
	for i := range labels {
		labels[i] = -1
		if i >= n {
			labels[i] = p.AnchorLabels[i-n]
		} else if p.Labels != nil {
			labels[i] = p.Labels[i]
		}
	}
	for i, v := range x {
		x[i] = float32(math.Copysign(math.Pow(math.Abs(float64(v)), s.settings.Power), float64(v)))
	}
	mean := make([]float32, d)
	if p.Embedding != nil {
		copy(mean, p.Embedding.Mean)
	} else {
		classMean(mean, x, labels, k)
	}
	for i := range all {
		row := x[i*d : i*d+d]
		kernel.Axpy(-1, mean, row)
		if l := kernel.Dot(row, row); l > 0 {
			kernel.Scale(float32(1/math.Sqrt(float64(l))), row)
		}
	}
	lists, err := index.Build(ctx, x, all, d, index.Options{Rho: s.settings.Rho})
	if err != nil {
		return nil, err
	}
	w := lists.Symmetric()

	ws := s.settings.WS
	if ws == 0 {
		ws = max(1, .5*math.Log2(float64(k)))
	}
	r := &Result{S: make([]float32, n*k), Labels: make([]int32, n), Z: x[:n*d], Prototypes: make([]float32, k*d), Masses: make([]float32, k), Affinity: w}
	cost := make([]float32, k)
	sweep := func(first bool) (change float64) {
		for i := range n {
			row := r.S[i*k : i*k+k]
			if labels[i] >= 0 {
				clear(row)
				row[labels[i]] = 1
				continue
			}
			for c := range k {
				cost[c] = float32(-s.settings.Tau) * kernel.SquaredDistance(x[i*d:i*d+d], r.Prototypes[c*d:c*d+d])
			}
			if !first {
				columns, weights := w.Row(i)
				for j, q := range columns {
					if labels[q] >= 0 {
						cost[labels[q]] += float32(s.settings.Lambda) // a labelled neighbour has weight 1
					} else {
						kernel.Axpy(float32(s.settings.Lambda)*weights[j], r.S[int(q)*k:int(q)*k+k], cost)
					}
				}
			}
			kernel.Softmax(cost)
			for c := range k {
				change += math.Abs(float64(cost[c] - row[c]))
			}
			copy(row, cost)
		}
		return change / float64(n)
	}
	prototypes := func(soft bool) {
		clear(r.Prototypes)
		clear(r.Masses)
		for i := range all {
			row := x[i*d : i*d+d]
			if labels[i] >= 0 {
				r.Masses[labels[i]] += float32(ws)
				kernel.Axpy(float32(ws), row, r.Prototypes[int(labels[i])*d:int(labels[i])*d+d])
			} else if soft {
				for c := range k {
					r.Masses[c] += r.S[i*k+c]
					kernel.Axpy(r.S[i*k+c], row, r.Prototypes[c*d:c*d+d])
				}
			}
		}
		for c := range k {
			if r.Masses[c] > 0 {
				kernel.Scale(1/r.Masses[c], r.Prototypes[c*d:c*d+d])
			}
		}
	}
	prototypes(false)
	sweep(true)
	for r.Stopped = "outer"; r.Iterations < s.settings.Outer; {
		r.Iterations++
		change := sweep(false)
		prototypes(true)
		if change < s.settings.Tolerance {
			r.Stopped = "tolerance"
			break
		}
	}
	for i := range n {
		for c := range k {
			if r.S[i*k+c] > r.S[i*k+int(r.Labels[i])] {
				r.Labels[i] = int32(c)
			}
		}
	}
	return r, nil
}

// classMean is the mean of the labelled rows with equal weight a class.
func classMean(mean, x []float32, labels []int32, k int) {
	d := len(mean)
	count := make([]float32, k)
	for _, l := range labels {
		if l >= 0 {
			count[l]++
		}
	}
	var classes float32
	for _, c := range count {
		if c > 0 {
			classes++
		}
	}
	for i, l := range labels {
		if l >= 0 {
			kernel.Axpy(1/(count[l]*classes), x[i*d:i*d+d], mean)
		}
	}
}
