package index

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Parameters of the descent, compared on clustered rows and on images: more trees cost less than more passes, as
// long as they replace much.
const (
	mostTrees            = 16
	treeWorth            = .02  // share of the neighbours that a tree must replace for others to follow
	treesWorth           = .03  // ... and that all of these would
	treesAtOnce          = 2    // trees at a time: each takes memory
	passes               = 4    // at most
	convergenceThreshold = .002 // share of the neighbours that a pass is worth
	shortestList         = 12   // length of a list where no more than 8 neighbours are wanted
	mostNear             = 32   // neighbours of a neighbour compared, at most
	fewestNear           = 16   // of sketches: half as many again as are wanted, and at least this many
	groupSize            = 24   // rows adjacent in a tree that are compared with their candidates in one tile
)

// snapshot is the part of the lists that a pass reads while it writes them: each row's neighbours before the
// pass, and the rows that have it among theirs. Neighbours that are new since the pass before are marked: a
// candidate that is two old steps away was compared already.
type snapshot struct {
	most           int      // bound of width
	width          int      // of near
	backward       int      // of reverse: most rows that name a row are among its nearest anyway
	near           []int32  // n x width, nearest first; -1: fewer
	newBits        []uint32 // a bit for each neighbour that is new since the pass before
	reverse        []int32  // n x backward: rows that have this one among their nearest, those nearest to it first
	reverseNewBits []uint32 // a bit for each of them
	reverseCounts  []uint8  // their number
}

// descend finds neighbours approximately: trees whose leaves are compared exactly, then passes that compare
// adjacent rows with their neighbours' neighbours. All is computed in tiles; the answer depends only on the
// rows and the seed.
func (w *Workspace) descend(ctx context.Context, o Options) error {
	w.startWorkers(o.Workers)
	w.snapshot = snapshot{}
	var s points
	if is, err := w.sketch(ctx, o, &s); err != nil {
		return err
	} else if is {
		return w.descendSketched(ctx, o, &s)
	}
	if o.Lean {
		w.lists.resetRough(&w.points, max(o.Rho+o.Rho/2, shortestList))
		_, err := w.search(ctx, o)
		return err
	}
	return w.descendArranged(ctx, o)
}

// descendArranged is descend with the rows copied in the order of a tree: rows that are compared are then
// near each other in memory.
func (w *Workspace) descendArranged(ctx context.Context, o Options) error {
	s := w.points
	order, leaves, err := w.arrange(ctx, o, &s)
	if err != nil {
		return err
	}
	w.lists.resetRough(&s, max(o.Rho+o.Rho/2, shortestList))
	if err := w.searchArranged(ctx, o, &s, leaves, mostNear); err != nil {
		return err
	}
	w.snapshot = snapshot{}
	return w.lists.restore(ctx, o, &w.points, order)
}

// arrange copies the rows of s in the order of the first tree, and returns that order and its leaves.
func (w *Workspace) arrange(ctx context.Context, o Options, s *points) ([]int32, []span, error) {
	var f forest
	if err := f.grow(ctx, w, s, 0, 1, o); err != nil {
		return nil, nil, err
	}
	if err := f.order(ctx, w, s, 0, 0, o); err != nil {
		return nil, nil, err
	}
	return f.orders[0], f.leaves[0], s.arrange(ctx, o, f.orders[0])
}

// search improves the lists by trees, and by passes over the lists after those. Few trees are in memory at
// a time; it returns the order of one.
func (w *Workspace) search(ctx context.Context, o Options) (order []int32, err error) {
	p := &w.points
	w.snapshot.most = mostNear
	orders, left, err := w.compareTrees(ctx, o, p, 0)
	if err != nil {
		return nil, err
	}
	if left < convergenceThreshold {
		return orders[0], nil
	}
	return orders[0], w.descendOver(ctx, o, p, orders)
}

// searchArranged is search for rows of p that are in the order of the first tree, which has these leaves. The
// first pass is in that order. A pass compares near neighbours of a neighbour.
func (w *Workspace) searchArranged(ctx context.Context, o Options, p *points, leaves []span, near int) error {
	w.snapshot.most = near
	first := make([]int32, p.n)
	for i := range first {
		first[i] = int32(i)
	}
	if err := w.compareLeaves(ctx, o, p, first, leaves); err != nil {
		return err
	}
	orders, left, err := w.compareTrees(ctx, o, p, 1)
	if err != nil || left < convergenceThreshold {
		return err
	}
	return w.descendOver(ctx, o, p, append([][]int32{first}, orders...))
}

// compareTrees grows trees, numbered from first on, a few at a time, and compares the rows of each leaf, until a tree
// replaces few neighbours, or all further ones would. It returns the orders of the last few, and the share of the
// neighbours that further ones would replace: each less than the one before by the factor of the last two.
func (w *Workspace) compareTrees(
	ctx context.Context,
	o Options,
	p *points,
	first int,
) (orders [][]int32, left float64, err error) {
	var f forest
	before, gained := 1., 1.
	for left = 1; gained >= treeWorth && left >= treesWorth && first < mostTrees; first += treesAtOnce {
		if err := f.grow(ctx, w, p, first, treesAtOnce, o); err != nil {
			return nil, 0, err
		}
		for t, order := range f.orders {
			before = gained
			if gained, err = w.gain(p, o, func() error { return w.compareLeaves(ctx, o, p, order, f.leaves[t]) }); err != nil {
				return nil, 0, err
			}
		}
		left = gained * gained / max(before-gained, 1e-9)
	}
	for t := range f.orders {
		if err := f.order(ctx, w, p, t, first-treesAtOnce+t, o); err != nil {
			return nil, 0, err
		}
	}
	for _, worker := range w.workers {
		worker.splitting = splitting{} // frees memory that grows with the rows
	}
	return f.orders, left, nil
}

// gain returns the share of neighbours that work replaces.
func (w *Workspace) gain(p *points, o Options, work func() error) (gained float64, err error) {
	for _, worker := range w.workers {
		worker.gained, worker.wanted = 0, o.Rho
	}
	err = work()
	for _, worker := range w.workers {
		gained += float64(worker.gained)
	}
	return gained / float64(p.n) / float64(o.Rho), err
}

// compareLeaves compares the rows of each leaf of a tree.
func (w *Workspace) compareLeaves(ctx context.Context, o Options, p *points, order []int32, leaves []span) error {
	return inParallel(ctx, o, "leaves", len(leaves), func(number, item int) {
		w.workers[number].compareLeaf(p, &w.lists, order[leaves[item].from:leaves[item].to])
	})
}

// descendOver makes passes over the lists, each in the order of another tree, until one replaces hardly any
// neighbour, or the next would: it is expected to replace less than the last by the factor by which that
// replaced less than the one before.
func (w *Workspace) descendOver(ctx context.Context, o Options, p *points, orders [][]int32) error {
	before := 0.
	for pass := range passes {
		gained, err := w.pass(ctx, o, p, orders[pass%len(orders)])
		if err != nil {
			return err
		}
		if gained < convergenceThreshold || gained*gained < convergenceThreshold*before {
			break
		}
		before = gained
	}
	return nil
}

// rank writes the answer from the lists.
func (w *Workspace) rank(ctx context.Context, o Options) error {
	p := &w.points
	l := w.lists // with rho as wanted, not as kept
	l.rho = min(o.Rho, p.n-1)
	w.snapshot = snapshot{} // frees the memory of the passes
	w.result.reset(p.n, o.Rho)
	return eachRow(ctx, o, "ranking", p.n, func(number, i int) { w.workers[number].ranker.rank(p, &l, i, &w.result) })
}

// compareLeaf compares the rows of a leaf with each other.
func (w *worker) compareLeaf(p *points, l *candidateLists, ids []int32) {
	n := len(ids)
	w.gather(p, ids)
	kernel.Gram(w.products, w.rows, n, p.d)
	for i, id := range ids {
		l.ahead(ids, i)
		row := w.products[i*n : i*n+n]
		if l.limits[id] == infinity {
			l.bound(int(id), w.norms[:n], row, w.minima)
		}
		w.offerGathered(l, id, ids, row)
	}
}

// gather copies rows side by side, with their norms.
func (w *worker) gather(p *points, ids []int32) {
	w.rows, w.norms = vector.Resize(w.rows, block*p.d), vector.Resize(w.norms, block)
	for i, id := range ids { // by themselves, so that many arrive at a time
		w.norms[i] = p.norms[id]
	}
	for i, id := range ids {
		p.ahead(ids, i)
		copy(w.rows[i*p.d:i*p.d+p.d], p.row(int(id)))
	}
}

// offerGathered offers row i those of the gathered rows that are near enough by these products.
func (w *worker) offerGathered(l *candidateLists, i int32, ids []int32, products []float32) {
	found := kernel.Below(w.positions, w.norms[:len(products)], products, l.limits[i])
	for _, c := range w.positions[:found] {
		if id := ids[c]; id != i {
			if l.insert(int(i), w.norms[c]-2*products[c], id) < w.wanted {
				w.gained++
			}
		}
	}
	if found > 0 {
		l.lower(int(i))
	}
}

// pass compares every row with the neighbours of its neighbours, in either direction. Adjacent rows of a
// tree's order share most of them and are compared with them in one tile. It returns the share of neighbours
// that were replaced.
func (w *Workspace) pass(ctx context.Context, o Options, p *points, order []int32) (gained float64, err error) {
	l, g := &w.lists, &w.snapshot
	if err := g.take(ctx, o, l, p.n); err != nil {
		return 0, err
	}
	for _, worker := range w.workers {
		worker.marked = vector.Resize(worker.marked, (p.n+63)/64)
	}
	return w.gain(p, o, func() error {
		return eachSpan(ctx, o, "descent", p.n, groupSize, func(number int, at span) {
			w.workers[number].join(p, l, g, order[at.from:at.to])
		})
	})
}

// take copies the lists, then finds which rows name each row; each goroutine does a range of the named rows.
func (g *snapshot) take(ctx context.Context, o Options, l *candidateLists, n int) error {
	if g.near == nil {
		g.width = min(l.rho, g.most)
		g.backward = (2*g.width + 2) / 3
		g.near, g.newBits = make([]int32, n*g.width), make([]uint32, n)
		g.reverse, g.reverseNewBits, g.reverseCounts = make([]int32, n*g.backward), make([]uint32, n), make([]uint8, n)
		for k := range g.near {
			g.near[k] = -1
		}
	}
	o.Progress = nil // the pass that follows reports
	if err := eachRow(ctx, o, "descent", n, func(_, i int) { g.read(l, i) }); err != nil {
		return err
	}
	return eachSpan(ctx, o, "descent", n, (n+o.Workers-1)/o.Workers, func(_ int, at span) {
		g.invert(int32(at.from), int32(at.to))
	})
}

// read copies the nearest of row i.
func (g *snapshot) read(l *candidateLists, i int) {
	count := min(int(l.counts[i]), g.width)
	row, list := g.nearestOf(int32(i)), l.ids[i*l.length:i*l.length+count]
	g.newBits[i] = 0
	for k, id := range list {
		if !slices.Contains(row, id) {
			g.newBits[i] |= 1 << k
		}
	}
	copy(row, list)
}

// invert records, for the rows of a range, which rows name them.
func (g *snapshot) invert(from, to int32) {
	clear(g.reverseCounts[from:to])
	clear(g.reverseNewBits[from:to])
	for k := range g.width {
		for i := range g.newBits {
			j := g.near[i*g.width+k]
			if j < from || j >= to || int(g.reverseCounts[j]) == g.backward {
				continue
			}
			g.reverse[int(j)*g.backward+int(g.reverseCounts[j])] = int32(i)
			g.reverseNewBits[j] |= g.newBits[i] >> k & 1 << g.reverseCounts[j]
			g.reverseCounts[j]++
		}
	}
}

// nearestOf returns the nearest of row i, -1 where there are fewer.
func (g *snapshot) nearestOf(i int32) []int32 { return g.near[int(i)*g.width : (int(i)+1)*g.width] }

// reverseOf returns rows that have row i among their nearest.
func (g *snapshot) reverseOf(i int32) []int32 {
	return g.reverse[int(i)*g.backward : int(i)*g.backward+int(g.reverseCounts[i])]
}

// join compares a few rows with all rows that are two steps from any of them.
func (w *worker) join(p *points, l *candidateLists, g *snapshot, ids []int32) {
	w.candidates = w.candidates[:0]
	for at, i := range ids {
		if at+1 < len(ids) {
			kernel.Prefetch(g.near, g.width, g.nearestOf(ids[at+1]))
			kernel.Prefetch(g.near, g.width, g.reverseOf(ids[at+1]))
		}
		l.ahead(ids, at)
		for k, j := range g.nearestOf(i) {
			w.visit(g, j, g.newBits[i]>>k&1 != 0)
		}
		for k, j := range g.reverseOf(i) {
			w.visit(g, j, g.reverseNewBits[i]>>k&1 != 0)
		}
	}
	w.compareMarked(p, l, ids)
}

// mark makes a row a candidate, once.
func (w *worker) mark(id int32) {
	if w.marked[id>>6]>>(id&63)&1 == 0 {
		w.marked[id>>6] |= 1 << (id & 63)
		w.candidates = append(w.candidates, id)
	}
}

// compareMarked compares a few rows with the candidates, which it unmarks.
func (w *worker) compareMarked(p *points, l *candidateLists, ids []int32) {
	for _, id := range w.candidates {
		w.marked[id>>6] = 0
	}
	w.own = vector.Resize(w.own, groupSize*p.d)
	for r, i := range ids {
		copy(w.own[r*p.d:r*p.d+p.d], p.row(int(i)))
	}
	for from := 0; from < len(w.candidates); from += block {
		some := w.candidates[from:min(from+block, len(w.candidates))]
		w.gather(p, some)
		kernel.Products(w.products, w.own, w.rows, len(ids), len(some), p.d)
		for r, i := range ids {
			w.offerGathered(l, i, some, w.products[r*len(some):(r+1)*len(some)])
		}
	}
}

// visit makes the neighbours of j candidates, once per join. Those that j had before are skipped, unless the
// step to j is fresh.
func (w *worker) visit(g *snapshot, j int32, fresh bool) {
	if j < 0 || !fresh && g.newBits[j] == 0 {
		return
	}
	for k, id := range g.nearestOf(j) {
		if id >= 0 && (fresh || g.newBits[j]>>k&1 != 0) {
			w.mark(id)
		}
	}
}
