package index

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/parallel"
)

// block is the number of rows on either side of a tile of exact search: a multiple of every kernel's tile,
// and small enough for a tile of products to stay in the second-level cache.
const block = 240

// worker is the memory of one goroutine of a search.
type worker struct {
	products  []float32
	positions []int32
	minima    []float32
	ranker    ranker

	// for approximate search
	splitting  splitting
	marked     []uint64 // a bit for each row; all are 0 except during a join
	rows, own  []float32
	norms      []float32
	candidates []int32
	wanted     int     // neighbours, and
	gained     int64   // how many of them were replaced
	leftOut    []int32 // positions of candidates that are not linked to
}

// startWorkers makes sure that there are this many workers.
func (w *Workspace) startWorkers(workers int) {
	for len(w.workers) < workers {
		w.workers = append(
			w.workers,
			&worker{products: make([]float32, block*block), positions: make([]int32, block), minima: make([]float32, block)},
		)
	}
}

// exact compares every row with every other one. It computes tiles of inner products for the pairs of blocks,
// half of the matrix, and reads each tile along its rows and along its columns.
func (w *Workspace) exact(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	w.result.reset(p.n, o.Rho)
	l.reset(p, o.Rho, nil)
	w.result.Report = exactly
	blocks := (p.n + block - 1) / block
	w.startWorkers(o.Workers)
	if blocks == 1 {
		worker := w.workers[0]
		worker.diagonal(p, l, 0)
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range p.n {
			worker.ranker.rankExactly(p, l, i, &w.result)
		}
		return nil
	}
	s := search{workspace: w, blocks: blocks, locks: make([]sync.Mutex, blocks)}
	// Diagonal blocks come first: they give every row a limit. Then come those at equal steps from the diagonal,
	// so that goroutines work on different blocks at a time.
	if err := inParallel(ctx, o, "exact", blocks*(blocks+1)/2, func(number, item int) {
		s.tile(w.workers[number], item)
	}); err != nil {
		return err
	}
	return eachRow(ctx, o, "ranking", p.n, func(number, i int) { w.workers[number].ranker.rankExactly(p, l, i, &w.result) })
}

// search is an exact search over several blocks.
type search struct {
	workspace *Workspace
	blocks    int
	locks     []sync.Mutex // of the lists of a block's rows
}

// pair returns the blocks of an item: step 0 is the diagonal, then step 1 with blocks-1 items, and so on.
func (s *search) pair(item int) (i, j int) {
	step := 0
	for item >= s.blocks-step {
		item -= s.blocks - step
		step++
	}
	return item, item + step
}

func (s *search) tile(w *worker, item int) {
	p, l := &s.workspace.points, &s.workspace.lists
	i, j := s.pair(item)
	if i == j {
		s.locks[i].Lock()
		w.diagonal(p, l, i*block)
		s.locks[i].Unlock()
		return
	}
	top, left := i*block, j*block
	m, n := min(block, p.n-top), min(block, p.n-left)
	kernel.Products(w.products, p.rows[top*p.d:], p.rows[left*p.d:], m, n, p.d)
	s.locks[i].Lock()
	for r := range m {
		w.along(p, l, top+r, left, w.products[r*n:r*n+n])
	}
	s.locks[i].Unlock()
	s.locks[j].Lock()
	for r := range m {
		row := w.products[r*n : r*n+n]
		found := kernel.BelowEach(w.positions, p.low[top+r], row, l.limits[left:left+n])
		for _, c := range w.positions[:found] {
			l.offer(left+int(c), p.norms[top+r]-2*row[c], int32(top+r))
		}
	}
	s.locks[j].Unlock()
}

// diagonal compares the rows of a block with each other.
func (w *worker) diagonal(p *points, l *candidateLists, from int) {
	n := min(block, p.n-from)
	kernel.Gram(w.products, p.rows[from*p.d:(from+n)*p.d], n, p.d)
	for i := range n {
		row := w.products[i*n : i*n+n]
		l.bound(from+i, p.high[from:from+n], row, w.minima)
		w.along(p, l, from+i, from, row)
	}
}

// along offers row i those rows from first on that are near enough by these products.
func (w *worker) along(p *points, l *candidateLists, i, first int, products []float32) {
	found := kernel.Below(w.positions, p.low[first:first+len(products)], products, l.limits[i])
	for _, c := range w.positions[:found] {
		if id := first + int(c); id != l.row(i) {
			l.insert(i, p.norms[id]-2*products[c], int32(id))
		}
	}
	if found > 0 {
		l.lower(i)
	}
}

// inParallel runs work for the items 0 to total-1, started in order, on o.Workers goroutines, until all are
// done or ctx is. number identifies the goroutine. Progress is reported about a hundred times and never
// falls: a goroutine does not report a count below the one last reported, so that the last report is the end.
func inParallel(ctx context.Context, o Options, stage string, total int, work func(number, item int)) error {
	var done atomic.Int64
	var reporting sync.Mutex
	var reported int64
	all := int64(total)
	each := max(1, all/100)
	parallel.Each(o.Workers, total, func(number, item int) {
		if ctx.Err() != nil {
			return
		}
		work(number, item)
		if d := done.Add(1); o.Progress != nil && (d%each == 0 || d == all) {
			reporting.Lock()
			if d > reported {
				reported = d
				o.Progress(stage, d, all)
			}
			reporting.Unlock()
		}
	})
	return ctx.Err()
}

// eachSpan is inParallel over n rows, size at a time.
func eachSpan(ctx context.Context, o Options, stage string, n, size int, work func(number int, at span)) error {
	return inParallel(ctx, o, stage, (n+size-1)/size, func(number, item int) {
		work(number, span{item * size, min((item+1)*size, n)})
	})
}

// eachRow is inParallel over n rows, a block at a time.
func eachRow(ctx context.Context, o Options, stage string, n int, work func(number, i int)) error {
	return eachSpan(ctx, o, stage, n, block, func(number int, at span) {
		for i := at.from; i < at.to; i++ {
			work(number, i)
		}
	})
}
