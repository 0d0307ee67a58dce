//go:build !windows

package index

import (
	"context"
	"math"
	"math/rand"

	"github.com/coder/hnsw"

	"github.com/slkstream/slkstream/internal/kernel"
)

// hnswBuilt says whether this build has the HNSW library.
const hnswBuilt = true

// navigator is an HNSW graph over rows that are kept elsewhere: its vectors hold nothing but the number of a row, so that
// distances are ours and no row is copied. The library's answers are taken for candidates only: they are too many, ranked
// anew, and checked. It is never asked to delete. One goroutine adds while none searches; any number search.
//
// Its graph depends on the order in which Go walks through maps: two runs differ.
type navigator struct {
	graph   *hnsw.Graph[int32]
	row     func(number int32) []float32
	free    chan int32  // places of queries that are not in use
	queries [][]float32 // of each place
}

// searchesAtOnce is how many searches of a navigator run side by side; more wait.
const searchesAtOnce = 64

// newNavigator returns an empty graph. Levels are drawn from the seed.
func newNavigator(row func(number int32) []float32, seed uint64) *navigator {
	v := &navigator{graph: hnsw.NewGraph[int32](), row: row, free: make(chan int32, searchesAtOnce), queries: make([][]float32, searchesAtOnce)}
	for place := range int32(searchesAtOnce) {
		v.free <- place
	}
	v.graph.Rng = rand.New(rand.NewSource(int64(seed)))
	v.graph.Distance = func(a, b []float32) float32 { return kernel.SquaredDistance(v.at(a), v.at(b)) }
	return v
}

// at is the row that a vector of the graph stands for; numbers below zero are queries.
func (v *navigator) at(vector []float32) []float32 {
	if number := int32(math.Float32bits(vector[0])); number >= 0 {
		return v.row(number)
	} else {
		return v.queries[-1-number]
	}
}

// standFor is the vector of a number.
func standFor(number int32) []float32 { return []float32{math.Float32frombits(uint32(number))} }

// add inserts a row, whose number must be new.
func (v *navigator) add(number int32) { v.graph.Add(hnsw.MakeNode(number, standFor(number))) }

// search appends the numbers of about k rows near query to dst, in no order.
func (v *navigator) search(dst []int32, query []float32, k int) []int32 {
	place := <-v.free
	defer func() { v.free <- place }()
	v.queries[place] = query
	for _, node := range v.graph.Search(standFor(-1-place), k) {
		dst = append(dst, node.Key)
	}
	return dst
}

// overFetch is how many candidates are asked of the library where few are wanted: its search stops too early.
const overFetch = 64

// navigate finds neighbours through an HNSW graph that is built row by row: candidates in excess, ranked by the tiles, and
// passes over the neighbours of neighbours.
func (w *Workspace) navigate(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	w.hire(o.Workers)
	l.resetRough(p, max(o.Rho+o.Rho/2, joined))
	w.graph = graph{}
	for _, worker := range w.workers {
		worker.pairs = 0
	}
	v := newNavigator(func(number int32) []float32 { return p.row(int(number)) }, o.Seed)
	alone := o
	alone.Workers = 1
	if err := parallel(ctx, alone, "insertion", int64(p.n), func(_ int, item int64) { v.add(int32(item)) }); err != nil {
		return err
	}
	if err := parallel(ctx, o, "search", int64(p.n), func(number int, item int64) {
		worker := w.workers[number]
		worker.candidates = v.search(worker.candidates[:0], p.row(int(item)), min(max(overFetch, 4*o.Rho), block))
		worker.compare(p, l, int32(item), worker.candidates)
	}); err != nil {
		return err
	}
	var f forest
	if err := f.plant(ctx, w, 0, 1, o); err != nil {
		return err
	}
	return w.descendOver(ctx, o, f.orders)
}

// compare offers row i at most block candidates, with the values that tiles give them.
func (w *worker) compare(p *points, l *shortlists, i int32, ids []int32) {
	ids = ids[:min(len(ids), block)]
	w.pairs += int64(len(ids))
	w.gather(p, ids)
	kernel.Products(w.products, p.row(int(i)), w.rows, 1, len(ids), p.d)
	w.meet(p, l, i, ids, w.products[:len(ids)])
}
