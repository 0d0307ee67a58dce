package index

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
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
	layers, entries, err := w.layersOf(ctx, o, order)
	if err != nil {
		return err
	}
	graph, err := newLibraryGraph(layers, newEntryRows(p, entries), p)
	if err != nil {
		return err
	}
	return parallel(ctx, o, "search", int64(len(changed)), func(number int, item int64) {
		worker, row := w.workers[number], changed[item]
		worker.candidates = graph.search(worker.candidates[:0], p.row(int(row)), min(max(candidatesAsked, 4*o.Rho), block), row)
		worker.compare(p, l, row, worker.candidates)
	})
}

// changedRows returns the rows of which one of the rho nearest was not on their list when the
// last pass began.
func (w *Workspace) changedRows(rho int) []int32 {
	var changed []int32
	for i := range int32(w.points.n) {
		from := int(i) * w.lists.length
		before := w.graph.named(i)
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
	w.pairs += int64(len(ids))
	w.gather(p, ids)
	kernel.Products(w.products, p.row(int(i)), w.rows, 1, len(ids), p.d)
	w.meet(p, l, i, ids, w.products[:len(ids)])
}

// entryRows are copies of the rows where searches may begin, side by side.
type entryRows struct {
	numbers []int32 // ascending
	rows    vector.Matrix
}

func newEntryRows(p *points, numbers []int32) entryRows {
	e := entryRows{numbers, vector.New(len(numbers), p.d)}
	for i, number := range numbers {
		copy(e.rows.Row(i), p.row(int(number)))
	}
	return e
}

// nearest returns the index of the entry nearest to a query, the first of equals.
func (e *entryRows) nearest(query []float32) int32 {
	best, least := int32(0), infinity
	for i := range e.numbers {
		if distance := kernel.SquaredDistance(e.rows.Row(i), query); distance < least {
			best, least = int32(i), distance
		}
	}
	return best
}
