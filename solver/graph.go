package solver

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// graph is W and b of an episode, and the workspace to build them.
type graph struct {
	*index.Affinity // in force: given, built, or summed
	built, summed   index.Affinity
	lists           index.Workspace
	entries         []entry   // of Problem.Edges, row by row
	ends            []int     // of each row's entries
	evidence        []float32 // n x K: Problem.Evidence
	near            nearLists
	norms           []float32 // n: squared lengths, with the lag from a row
	apart           []float32 // 2n-1: see lags
	positions       []int32   // n
	minima          [kernel.Groups]float32
	products        []float32 // n x n, if the engine has none
	ranked          []float32 // rho: weight of the r-th nearest
	order           sweepOrder
}

// nearLists are the nearest of each row, nearest first.
type nearLists struct {
	index.Neighbours
	squares []float32 // N x Rho: squared distances less the row's own squared length
}

// reset empties the lists: -1 at an infinite distance.
func (l *nearLists) reset(n, rho int) {
	l.N, l.Rho = n, rho
	l.IDs, l.squares = vector.Resize(l.IDs, n*rho), vector.Resize(l.squares, n*rho)
	for i := range l.IDs {
		l.IDs[i] = -1
	}
	infinite(l.squares)
}

// last returns the last distance of row p.
func (l *nearLists) last(p int) float32 { return l.squares[p*l.Rho+l.Rho-1] }

// insert puts an entry into the list of row p, after equal ones, if it is nearer than the last. It returns
// the new last distance.
func (l *nearLists) insert(p int, id int32, squared float32) float32 {
	ids, squares := l.IDs[p*l.Rho:(p+1)*l.Rho], l.squares[p*l.Rho:(p+1)*l.Rho]
	at := l.Rho - 1
	if !(squared < squares[at]) {
		return squares[at]
	}
	for ; at > 0 && squares[at-1] > squared; at-- {
		ids[at], squares[at] = ids[at-1], squares[at-1]
	}
	ids[at], squares[at] = id, squared
	return squares[l.Rho-1]
}

// neighbours finds the rho nearest, unlabelled or labelled, of each unlabelled row; nil: none are wanted.
func (e *episode) neighbours(ctx context.Context, p *Problem) (*index.Neighbours, error) {
	g := &e.graph
	all := e.rows.n + e.rows.examples
	if p.Graph.affinity != nil || e.settings.Rho == 0 || all < 2 {
		e.compare(p, nil)
		e.shrinkRows()
		return nil, nil
	}
	rho := min(e.settings.Rho, all-1)
	if e.rows.n <= mostGram {
		products, stride := e.prototypes.gram.inner, e.prototypes.gram.m
		if !e.prototypes.usesGram {
			g.products, stride = vector.Resize(g.products, e.rows.n*e.rows.n), e.rows.n
			e.productsBeforeGraph(g.products, e.rows.n)
			products = g.products
		}
		e.listItems(&g.near, products, stride, rho, p)
		e.compare(p, &g.near)
		e.shrinkRows()
		return &g.near.Neighbours, nil
	}
	e.compare(p, nil)
	e.shrinkRows()
	lists, err := g.lists.Build(ctx, e.rows.u[:all*e.rows.d], all, e.rows.d, index.Options{
		Rho: rho, Method: e.settings.Index, RecallFloor: e.settings.RecallFloor, Seed: e.settings.Seed, Workers: e.settings.Workers,
	})
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	for i, q := range lists.IDs {
		if int(q) >= e.rows.n && e.rows.label[q] < 0 { // a labelled row that is not in force
			lists.IDs[i] = -1
		}
	}
	return lists, nil
}

// listItems lists the rho nearest items of each unlabelled one. products holds the inner products of the
// items in u-space, its rows stride apart. The lag of the problem adds to squared distances.
func (e *episode) listItems(lists *nearLists, products []float32, stride, rho int, of *Problem) {
	g := &e.graph
	lists.reset(e.rows.n, rho)
	g.norms, g.positions = vector.Resize(g.norms, e.rows.n), vector.Resize(g.positions, e.rows.n)
	apart, now := g.lags(of.Graph.lag, e.rows.n), e.rows.n-of.Earlier // rows from now on come before the others
	for p := range e.rows.n {
		if e.rows.label[p] >= 0 {
			continue
		}
		norms, row := g.norms, products[p*stride:p*stride+e.rows.n]
		at := (p + of.Earlier) % e.rows.n // in time
		copy(norms, e.rows.squareU)
		kernel.Axpy(1, apart[e.rows.n-1+of.Earlier-at:][:now], norms)
		kernel.Axpy(1, apart[e.rows.n-1-at:][:e.rows.n-now], norms[now:])
		norms[p] = float32(math.Inf(1))
		below := kernel.Below(g.positions, norms, row, g.ceiling(norms, row, rho))
		for _, q := range g.positions[:below] {
			lists.insert(p, q, norms[q]-2*row[q])
		}
	}
}

// ceiling returns an upper bound of the rho-th smallest of norms - 2 products.
func (g *graph) ceiling(norms, products []float32, rho int) float32 {
	if rho > kernel.Groups {
		return float32(math.Inf(1))
	}
	infinite(g.minima[:])
	kernel.GroupMinima(&g.minima, norms, products)
	return smallest(&g.minima, rho)
}

// lags returns the lag of rows -(n-1) to n-1 positions apart.
func (g *graph) lags(lag []float32, n int) []float32 {
	g.apart = vector.Zeroed(g.apart, 2*n-1)
	for i := 1; i < n && len(lag) > 0; i++ {
		v := lag[min(i, len(lag))-1]
		g.apart[n-1+i], g.apart[n-1-i] = v, v
	}
	return g.apart
}

// link takes the problem's graph, or builds it from the lists; nil: it has no edges. With EdgeDecay the r-th
// nearest weighs EdgeDecay^r, scaled to a mean weight of 1; it is symmetrised as without.
func (e *episode) link(p *Problem, lists *index.Neighbours) {
	g := &e.graph
	if g.Affinity = p.Graph.affinity; g.Affinity != nil {
		return
	}
	if g.Affinity = &g.built; lists == nil {
		g.built.Offsets = vector.Zeroed(g.built.Offsets, e.rows.n+1)
		g.built.Columns, g.built.Weights = g.built.Columns[:0], g.built.Weights[:0]
		return
	}
	if e.settings.EdgeDecay == 0 || e.settings.EdgeDecay == 1 {
		lists.LabelledInto(&g.built, e.rows.n, e.rows.label, nil)
		return
	}
	width := lists.Rho
	e.graph.ranked = vector.Resize(e.graph.ranked, width)
	sum, weight := 0., 1.
	for r := range e.graph.ranked {
		e.graph.ranked[r] = float32(weight)
		sum += weight
		weight *= e.settings.EdgeDecay
	}
	kernel.Scale(float32(float64(width)/sum), e.graph.ranked)
	lists.LabelledInto(&e.graph.built, e.rows.n, e.rows.label, e.graph.ranked)
}

// Edge adds Weight, which may be negative, to the weight of a pair of rows in W, because they are known to be
// the same thing or different things. Indices from N on are examples. An edge to a labelled row or an example
// counts for its class.
type Edge struct {
	P, Q   int32
	Weight float32
}

// checkGraphTerms reports the first fault of Lag, Earlier, Edges and Evidence.
func (p *Problem) checkGraphTerms() error {
	n, lag := p.Rows.N(), p.Graph.lag
	all := n + p.Examples.len()
	if i := vector.NotFinite(lag); i >= 0 {
		return fmt.Errorf("lag %d: %g is not finite", i+1, lag[i])
	}
	if len(lag) > 0 && n > mostGram {
		return fmt.Errorf("lag: %d rows, more than %d", n, mostGram)
	}
	if p.Earlier < 0 || p.Earlier > n {
		return fmt.Errorf("earlier: %d of %d rows", p.Earlier, n)
	}
	for i, e := range p.Edges {
		if e.P < 0 || e.Q < 0 || int(e.P) >= all || int(e.Q) >= all || e.P == e.Q {
			return fmt.Errorf("edge %d: from %d to %d: not two of %d rows and examples", i, e.P, e.Q, all)
		}
		if !p.inForce(e.P) || !p.inForce(e.Q) {
			return fmt.Errorf("edge %d: from %d to %d: one is an example that is not in force", i, e.P, e.Q)
		}
		if !bounded(e.Weight) {
			return fmt.Errorf("edge %d: weight %g is not between %g and %g", i, e.Weight, -mostTerm, mostTerm)
		}
	}
	if err := p.Weights.check(); err != nil {
		return err
	}
	if p.Evidence == nil {
		return nil
	}
	if len(p.Evidence) != n*p.K {
		return fmt.Errorf("evidence: %d values, not %d rows of %d classes", len(p.Evidence), n, p.K)
	}
	if i := slices.IndexFunc(p.Evidence, func(v float32) bool { return !bounded(v) }); i >= 0 {
		return fmt.Errorf("evidence: row %d, class %d: %g is not between %g and %g",
			i/p.K, i%p.K, p.Evidence[i], -mostTerm, mostTerm)
	}
	return nil
}

// mostTerm bounds the weight of an edge and evidence: times the largest lambda, many of them added up are
// finite. Streams divide weights by lambda, which may be small.
const mostTerm = 1e20

func bounded(v float32) bool { return v >= -mostTerm && v <= mostTerm }

// entry is one value in a row of a sparse matrix.
type entry struct {
	column int32
	weight float32
}

// addEdges replaces the graph by its sum with the given edges.
func (e *episode) addEdges(edges []Edge) {
	if len(edges) == 0 {
		return
	}
	e.graph.enter(edges, e.rows.n, e.rows.label)
	before, sum := e.graph.Affinity, &e.graph.summed
	*sum = index.Affinity{Offsets: vector.Resize(sum.Offsets, e.rows.n+1), Columns: sum.Columns[:0], Weights: sum.Weights[:0]}
	sum.Offsets[0] = 0
	put := func(column int32, weight float32, from int64) {
		if last := len(sum.Columns) - 1; last >= int(from) && sum.Columns[last] == column {
			sum.Weights[last] += weight
			return
		}
		sum.Columns, sum.Weights = append(sum.Columns, column), append(sum.Weights, weight)
	}
	begin := 0
	for p, end := range e.graph.ends {
		columns, weights := before.Row(p)
		from := sum.Offsets[p]
		for _, added := range e.graph.entries[begin:end] {
			for len(columns) > 0 && columns[0] <= added.column {
				put(columns[0], weights[0], from)
				columns, weights = columns[1:], weights[1:]
			}
			put(added.column, added.weight, from)
		}
		for j, q := range columns {
			put(q, weights[j], from)
		}
		sum.Offsets[p+1] = int64(len(sum.Columns))
		begin = end
	}
	e.graph.Affinity = sum
}

// enter lists both ends of each edge by row and column; edges of a pair keep their order. Rows of labelled
// items stay empty, because W's are not read.
func (g *graph) enter(edges []Edge, rows int, label []int32) {
	g.ends = vector.Zeroed(g.ends, rows)
	count := 0
	for _, edge := range edges {
		for _, p := range [2]int32{edge.P, edge.Q} {
			if label[p] < 0 {
				g.ends[p]++
				count++
			}
		}
	}
	at := 0
	for p, n := range g.ends { // for now the start of each row
		g.ends[p] = at
		at += n
	}
	g.entries = vector.Resize(g.entries, count)
	put := func(row, column int32, weight float32) {
		if label[row] < 0 {
			g.entries[g.ends[row]] = entry{column, weight}
			g.ends[row]++
		}
	}
	for _, edge := range edges {
		put(edge.P, edge.Q, edge.Weight)
		put(edge.Q, edge.P, edge.Weight)
	}
	begin := 0
	for _, end := range g.ends { // nearly always sorted already
		slices.SortStableFunc(g.entries[begin:end], func(a, b entry) int { return cmp.Compare(a.column, b.column) })
		begin = end
	}
}

// addEvidence adds lambda times a row's evidence to its scores.
func (e *episode) addEvidence(p int, row []float32) {
	if e.graph.evidence == nil {
		return
	}
	evidence := e.graph.evidence[p*len(e.classes.number):]
	if len(e.classes.active) == len(e.classes.number) {
		kernel.Axpy(float32(e.model.lambda), evidence[:len(row)], row)
		return
	}
	for c, class := range e.classes.active {
		row[c] += float32(e.model.lambda) * evidence[class]
	}
}

// evidenceTerm returns what a row's evidence adds to R. s_p is scale times row.
func (e *episode) evidenceTerm(p int, row []float32, scale float64) (sum float64) {
	if e.graph.evidence == nil {
		return 0
	}
	evidence := e.graph.evidence[p*len(e.classes.number):]
	for c, class := range e.classes.active {
		sum -= e.model.lambda * float64(evidence[class]) * float64(row[c]) * scale
	}
	return sum
}

// sweepOrder is the order in which a sweep updates points. Small episodes go in row order. Large ones go
// colour by colour: no two points of a colour are neighbours, so all of a colour can be updated in parallel
// and this is still exact Gauss-Seidel, in an order that depends on the graph alone. Updating all points at
// once from the old S (Jacobi) may raise R, would need a second S, N x K, to fall back to, and takes 1.7
// times the sweeps at lambda .8 and 3 times at 4 for the same accuracy: TestJacobiRises measures it.
type sweepOrder struct {
	points  []int32 // nil: row order
	offsets []int   // of colours in points
	colour  []int32
	taken   []int32
}

// plan colours the graph greedily.
func (o *sweepOrder) plan(e *episode) {
	o.offsets = append(o.offsets[:0], 0)
	if e.rows.n <= serial || e.rows.block > 0 {
		o.points = nil
		o.offsets = append(o.offsets, e.rows.n)
		return
	}
	o.colour = vector.Resize(o.colour, e.rows.n)
	for i := range o.colour {
		o.colour[i] = -1
	}
	o.taken = o.taken[:0]
	var sizes []int
	for p := range e.rows.n {
		if e.rows.label[p] >= 0 {
			continue
		}
		if e.model.lambda > 0 {
			columns, _ := e.graph.Row(p)
			for _, q := range columns {
				if int(q) < e.rows.n && o.colour[q] >= 0 {
					o.taken[o.colour[q]] = int32(p)
				}
			}
		}
		free := 0
		for free < len(o.taken) && o.taken[free] == int32(p) {
			free++
		}
		if free == len(o.taken) {
			o.taken, sizes = append(o.taken, -1), append(sizes, 0)
		}
		o.colour[p] = int32(free)
		sizes[free]++
	}
	for c, size := range sizes {
		o.offsets = append(o.offsets, o.offsets[c]+size)
	}
	o.points = vector.Resize(o.points, e.rows.unlabelled)
	next := append([]int(nil), o.offsets...)
	for p, c := range o.colour {
		if c >= 0 {
			o.points[next[c]] = int32(p)
			next[c]++
		}
	}
}
