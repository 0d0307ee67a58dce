package index

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// candidatesAsked is how many candidates to ask the library for per query, at least: its search ends early.
const candidatesAsked = 64

// navigate finds neighbours through an HNSW graph. The lists of a descent make its layers, and rows whose
// neighbours the last pass of the descent still changed are searched for in the graph.
func (w *Workspace) navigate(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	order, err := w.nearestRough(ctx, o)
	if err != nil {
		return err
	}
	changed := w.changedRows(o.Rho)
	layers, err := w.layersOf(ctx, o, order)
	if err != nil {
		return err
	}
	graph, err := newLibraryGraph(layers, p, len(w.workers))
	if err != nil {
		return err
	}
	return inParallel(ctx, o, "search", len(changed), func(number, item int) {
		worker, row := w.workers[number], changed[item]
		asked := min(max(candidatesAsked, 4*o.Rho), block)
		worker.candidates = graph.search(number, worker.candidates[:0], p.row(int(row)), asked, row)
		worker.compare(p, l, row, worker.candidates)
	})
}

// changedRows returns the rows of which one of the rho nearest was not on their list when the
// last pass began.
func (w *Workspace) changedRows(rho int) []int32 {
	var changed []int32
	for i := range int32(w.points.n) {
		from := int(i) * w.lists.length
		before := w.snapshot.nearestOf(i)
		for _, id := range w.lists.ids[from : from+min(int(w.lists.counts[i]), rho, len(before))] {
			if !slices.Contains(before, id) {
				changed = append(changed, i)
				break
			}
		}
	}
	return changed
}

// compare offers row i at most block candidates, with the same values as in tiles.
func (w *worker) compare(p *points, l *candidateLists, i int32, ids []int32) {
	ids = ids[:min(len(ids), block)]
	w.gather(p, ids)
	kernel.Products(w.products, p.row(int(i)), w.rows, 1, len(ids), p.d)
	w.offerGathered(l, i, ids, w.products[:len(ids)])
}
