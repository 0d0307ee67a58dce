package index

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

const (
	candidatesAsked = 64   // of the library for each query, at least: its search ends early
	mostCandidates  = 256  // where a graph does not find enough with fewer
	firstEntries    = 64   // rows that a search looks at first
	mostEntries     = 1024 // and at most, where a graph does not find enough: more rarely pay
	rowsEach        = 10   // rows that there must be for each of them
	graphFloor      = .96  // of the graphTested nearest of a row, what a graph finds
	graphTested     = 5
)

// navigate finds neighbours through an HNSW graph: the lists of a descent make its layers, and rows whose neighbours the last pass
// of the descent still changed are searched for in the graph.
func (w *Workspace) navigate(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	if err := w.nearestRough(ctx, o); err != nil {
		return err
	}
	changed := w.changedRows(o.Rho)
	layers, err := w.layersOf(ctx, o, firstEntries)
	if err != nil {
		return err
	}
	graph, err := newLibraryGraph(layers, func(number int32) []float32 { return p.row(int(number)) })
	if err != nil {
		return err
	}
	return parallel(ctx, o, "search", int64(len(changed)), func(number int, item int64) {
		worker, row := w.workers[number], changed[item]
		worker.candidates = graph.search(worker.candidates[:0], p.row(int(row)), min(max(candidatesAsked, 4*o.Rho), block))
		worker.compare(p, l, row, worker.candidates)
	})
}

// changedRows are the rows of which one of the rho nearest was not among those that the last pass began with.
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

// compare offers row i at most block candidates, with the values that tiles give them.
func (w *worker) compare(p *points, l *candidateLists, i int32, ids []int32) {
	ids = ids[:min(len(ids), block)]
	w.pairs += int64(len(ids))
	w.gather(p, ids)
	kernel.Products(w.products, p.row(int(i)), w.rows, 1, len(ids), p.d)
	w.meet(p, l, i, ids, w.products[:len(ids)])
}

// testedGraph makes an HNSW graph of rows of dimension d that finds what graphFloor asks, but for one in a thousand; nil where none
// does. Its rows are those given.
func testedGraph(ctx context.Context, rows []float32, d int, o Options) (*libraryGraph, error) {
	o.Rho = graphTested
	n := len(rows) / d
	w := new(Workspace)
	if err := w.points.take(rows, n, d, false); err != nil {
		return nil, err
	}
	if err := w.nearestRough(ctx, o); err != nil {
		return nil, err
	}
	for entries := firstEntries; entries <= mostEntries && entries*rowsEach <= n; entries *= 4 {
		layers, err := w.layersOf(ctx, o, entries)
		if err != nil {
			return nil, err
		}
		graph, err := newLibraryGraph(layers, func(number int32) []float32 { return w.points.trueRow(int(number)) })
		if err != nil {
			return nil, err
		}
		for graph.candidates = candidatesAsked; graph.candidates <= mostCandidates; graph.candidates *= 2 {
			if passed, err := w.testGraph(ctx, o, graph, uint64(entries)); passed || err != nil {
				return graph, err
			}
		}
	}
	return nil, nil
}

// testGraph searches a graph of the rows of w for vectors that are not among them: rows moved by the difference of two of their
// neighbours, about as far from the others as a new row would be.
func (w *Workspace) testGraph(ctx context.Context, o Options, graph *libraryGraph, seed uint64) (passed bool, err error) {
	p := &w.points
	test := newFloorTest(graphFloor)
	random := rand.New(rand.NewPCG(o.Seed, seed))
	rows := make([]int32, block)
	found := make([]float64, block)
	for range int(2*test.least())/block + 1 {
		for i := range rows {
			rows[i] = int32(random.IntN(p.n))
		}
		if err := parallel(ctx, o, "checking", block, func(_ int, item int64) {
			found[item] = w.foundNear(graph, w.moved(rows[item]))
		}); err != nil {
			return false, err
		}
		for _, share := range found {
			test.observe(share)
		}
		if !test.undecided() {
			break
		}
	}
	return test.passed(), nil
}

// moved is a row moved by the difference of two of those on its list.
func (w *Workspace) moved(row int32) []float32 {
	p, l := &w.points, &w.lists
	query := slices.Clone(p.trueRow(int(row)))
	if near := l.ids[int(row)*l.length:][:l.counts[row]]; len(near) > 1 {
		kernel.Axpy(1, p.trueRow(int(near[0])), query)
		kernel.Axpy(-1, p.trueRow(int(near[len(near)/2])), query)
	}
	return query
}

// foundNear is the share of the graphTested rows nearest to a query that a graph finds, by distance.
func (w *Workspace) foundNear(graph *libraryGraph, query []float32) float64 {
	p := &w.points
	var right nearestList
	right.reset(graphTested)
	for i := range int32(p.n) {
		right.offer(float64(kernel.SquaredDistance(query, p.trueRow(int(i)))), i)
	}
	limit := right.values[right.count-1] * (1 + 1e-6)
	found := 0
	for _, id := range graph.search(nil, query, graph.candidates) {
		if float64(kernel.SquaredDistance(query, p.trueRow(int(id)))) <= limit {
			found++
		}
	}
	return float64(min(found, right.count)) / float64(right.count)
}
