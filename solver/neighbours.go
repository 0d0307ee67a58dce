package solver

import (
	"context"
	"fmt"
	"math"

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
	all := e.n + e.anchors
	if p.Affinity != nil || e.settings.Rho == 0 || all < 2 {
		e.compare(p, nil)
		e.shrinkRows()
		return nil, nil
	}
	rho := min(e.settings.Rho, all-1)
	if e.n <= mostGram {
		products, stride := e.gram.g, e.gram.m
		if !e.usesGram {
			g.products, stride = vector.Resize(g.products, e.n*e.n), e.n
			e.productsBeforeGraph(g.products, e.n)
			products = g.products
		}
		e.listItems(&g.near, products, stride, rho, p)
		e.compare(p, &g.near)
		e.shrinkRows()
		return &g.near.Neighbours, nil
	}
	e.compare(p, nil)
	e.shrinkRows()
	lists, err := g.lists.Build(ctx, e.u[:all*e.d], all, e.d, index.Options{
		Rho: rho, Method: e.settings.Index, RecallFloor: e.settings.RecallFloor, Seed: e.settings.Seed, Workers: e.settings.Workers,
	})
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	for i, q := range lists.IDs {
		if int(q) >= e.n && e.label[q] < 0 { // a labelled row that is not in force
			lists.IDs[i] = -1
		}
	}
	return lists, nil
}

// listItems lists the rho nearest items of each unlabelled one. products holds the inner products of the
// items in u-space, its rows stride apart. The lag of the problem adds to squared distances.
func (e *episode) listItems(lists *nearLists, products []float32, stride, rho int, of *Problem) {
	g := &e.graph
	lists.reset(e.n, rho)
	g.norms, g.positions = vector.Resize(g.norms, e.n), vector.Resize(g.positions, e.n)
	apart, now := g.lags(of.Lag, e.n), e.n-of.Earlier // rows from now on come before the others
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		norms, row := g.norms, products[p*stride:p*stride+e.n]
		at := (p + of.Earlier) % e.n // in time
		copy(norms, e.own)
		kernel.Axpy(1, apart[e.n-1+of.Earlier-at:][:now], norms)
		kernel.Axpy(1, apart[e.n-1-at:][:e.n-now], norms[now:])
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
	if g.Affinity = p.Affinity; g.Affinity != nil {
		return
	}
	if g.Affinity = &g.built; lists == nil {
		g.built.Offsets = vector.Zeroed(g.built.Offsets, e.n+1)
		g.built.Columns, g.built.Weights = g.built.Columns[:0], g.built.Weights[:0]
		return
	}
	if e.settings.EdgeDecay == 0 || e.settings.EdgeDecay == 1 {
		lists.LabelledInto(&g.built, e.n, e.label, nil)
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
	lists.LabelledInto(&e.graph.built, e.n, e.label, e.graph.ranked)
}
