package index

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

const (
	candidatesAsked = 64  // to ask the library for per query, at least: its search ends early
	mostCandidates  = 512 // where a graph does not find enough with fewer
	graphFloor      = .96 // the share that a graph must find of the graphTested nearest of a row
	graphTested     = 5
	graphAttempts   = 2  // to make a graph; the second with full effort
	graphTests      = 8  // of them at most: with 64, 128, 256 and 512 candidates
	rowsEach        = 10 // rows needed per entry: a search compares all entries
)

// navigate finds neighbours through an HNSW graph. The lists of a descent make its layers, and rows whose
// neighbours the last pass of the descent still changed are searched for in the graph.
func (w *Workspace) navigate(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	order, err := w.nearestRough(ctx, o, fullEffort(p.n))
	if err != nil {
		return err
	}
	changed := w.changedRows(o.Rho)
	graph, err := w.graphOf(ctx, o, order, func(number int32) []float32 { return p.row(int(number)) })
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

// testedGraph makes an HNSW graph of rows of dimension d that finds graphFloor, with a risk of error of one
// in a thousand; nil if none does. The graph reads the rows from the given slice.
func testedGraph(ctx context.Context, rows []float32, d int, o Options) (*libraryGraph, error) {
	o.Rho = graphTested
	n := len(rows) / d
	w := new(Workspace)
	if err := w.points.take(rows, n, d, false); err != nil {
		return nil, err
	}
	order, err := w.nearestForGraph(ctx, o)
	if err != nil {
		return nil, err
	}
	for attempt := range graphAttempts {
		if attempt > 0 {
			if order, err = w.search(ctx, o, &w.points, fullEffort(n)); err != nil {
				return nil, err
			}
		}
		graph, err := w.graphOf(ctx, o, order, func(number int32) []float32 { return w.points.trueRow(int(number)) })
		if err != nil {
			return nil, err
		}
		if len(graph.entries.numbers)*rowsEach > n {
			return nil, nil
		}
		var test graphTest
		for graph.candidates = candidatesAsked; graph.candidates <= mostCandidates; graph.candidates *= 2 {
			if passed, err := test.passes(ctx, w, o, graph); passed || err != nil {
				return graph, err
			}
		}
		o.Seed++ // other trees, and another sample
	}
	return nil, nil
}

// graphOf makes an HNSW graph of the rows of w from its lists. order has near rows side by side. row returns
// a row by its number, for as long as the graph is in use.
func (w *Workspace) graphOf(ctx context.Context, o Options, order []int32, row func(number int32) []float32) (*libraryGraph, error) {
	layers, entries, err := w.layersOf(ctx, o, order)
	if err != nil {
		return nil, err
	}
	rows := newEntryRows(&w.points, entries)
	return newLibraryGraph(layers, rows, row)
}

// graphTest tests a graph of the rows of a Workspace by searching for some of them, each time without the row
// itself: the recall of the rows nearest to it estimates that for new rows of their kind. Entries are not
// drawn: without one, another would be an entry instead.
type graphTest struct {
	rows  [][]int32 // a block at a time
	truth []*Neighbours
}

// passes reports whether the test is sure that a graph finds graphFloor.
func (t *graphTest) passes(ctx context.Context, w *Workspace, o Options, graph *libraryGraph) (bool, error) {
	test := newFloorTest(graphFloor, graphTests)
	found := make([]float64, block)
	for at := 0; test.undecided() && at*block < 5*int(test.least()); at++ {
		if at == len(t.rows) {
			if err := t.draw(ctx, w, o, &graph.entries); err != nil {
				return false, err
			}
		}
		if err := parallel(ctx, o, "checking", block, func(_ int, item int64) {
			row := t.rows[at][item]
			right, _ := t.truth[at].Row(int(item))
			found[item] = w.share(row, right, graph.search(nil, w.points.trueRow(int(row)), graph.candidates, row))
		}); err != nil {
			return false, err
		}
		for _, share := range found {
			test.observe(share)
		}
	}
	return test.passed(), nil
}

// draw draws a block of rows, with replacement as the test assumes, and finds their neighbours.
func (t *graphTest) draw(ctx context.Context, w *Workspace, o Options, entries *entryRows) error {
	random := rand.New(rand.NewPCG(o.Seed, 0x9a7e+uint64(len(t.rows))))
	rows := make([]int32, block)
	for i := range rows {
		for again := true; again; _, again = slices.BinarySearch(entries.numbers, rows[i]) {
			rows[i] = int32(random.IntN(w.points.n))
		}
	}
	truth, err := w.nearestTo(ctx, o, rows)
	t.rows, t.truth = append(t.rows, rows), append(t.truth, truth)
	return err
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
