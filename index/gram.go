package index

import (
	"math"

	"github.com/slkstream/slkstream/internal/vector"
)

// GramNeighbours finds neighbours from a computed Gram matrix g (n x n, symmetric): |x|^2 + |y|^2 - 2xy. It
// costs a fraction of the matrix itself and allocates nothing in a used Workspace. Where rounding in g cannot
// distinguish two candidates, their order is that of the computed values, ties by id. The result is valid
// until the next search of w.
func (w *Workspace) GramNeighbours(g []float32, n, rho int) *Neighbours {
	w.result.reset(n, rho)
	w.result.Report = exactly
	if n < 2 || rho < 1 {
		return &w.result
	}
	g = g[:n*n]
	p, l := &w.gram, &w.lists
	p.n, p.norms = n, vector.Resize(p.norms, n)
	for i := range n {
		p.norms[i] = g[i*n+i]
	}
	p.low, p.high = p.norms, p.norms
	l.reset(p, rho, nil)
	w.startWorkers(1)
	s := w.workers[0]
	s.positions = vector.Resize(s.positions, max(n, block))
	for i := range n {
		row := g[i*n : i*n+n]
		l.bound(i, p.high, row, s.minima)
		s.along(p, l, i, 0, row)
		ids, distances := w.result.Row(i)
		from := i * l.length
		for k := range int(min(l.counts[i], int32(l.rho))) {
			ids[k], distances[k] = l.ids[from+k], float32(math.Sqrt(float64(max(0, l.values[from+k]+p.norms[i]))))
		}
	}
	return &w.result
}
