package solver

import (
	"github.com/slkstream/slkstream/internal/parallel"
	"github.com/slkstream/slkstream/internal/vector"
)

// serial is the largest number of rows that one core solves alone, in row order. Up to it, synchronising
// after each colour costs more than a second core gains, and episodes run in parallel anyway.
const serial = 4096

// tile is how many rows are compared with the prototypes at once.
const tile = 64

// workerPool runs blocks of work in parallel. The result of a block never depends on the worker that ran it.
type workerPool struct {
	workers []*worker
}

// worker is the workspace of one goroutine.
type worker struct {
	rows    []float32 // tile x d, gathered
	dots    []float32 // tile x k
	scores  []float32 // tile x k
	weights []float32 // tile x k
	// tile x anchorTile: products in z-space, and in u-space or along the metric's directions
	products, moved []float32
	gathered        [2][]float32 // tile x d, and tile x d or directions: rows that are compared
	anchors         []anchor     // anchorTile: what they are compared with
	ones            []float32    // anchorTile: squared lengths of these in u-space
	near            []int32      // anchorTile: those that are near an item
	own             blockProportions
	choice          choice
}

func (c *workerPool) resize(workers int) {
	for len(c.workers) < workers {
		c.workers = append(c.workers, &worker{})
	}
	c.workers = c.workers[:workers]
}

// size allocates for tiles of k classes.
func (c *workerPool) size(k int) {
	for _, w := range c.workers {
		w.dots, w.scores, w.weights = vector.Resize(w.dots, tile*k), vector.Resize(w.scores, tile*k), vector.Resize(w.weights, tile*k)
		w.choice.size(k)
	}
}

// run runs blocks 0 to count-1.
func (c *workerPool) run(count int, do func(w *worker, block int)) {
	parallel.Each(len(c.workers), count, func(number, block int) { do(c.workers[number], block) })
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
	if e.n <= serial || e.block > 0 {
		o.points = nil
		o.offsets = append(o.offsets, e.n)
		return
	}
	o.colour = vector.Resize(o.colour, e.n)
	for i := range o.colour {
		o.colour[i] = -1
	}
	o.taken = o.taken[:0]
	var sizes []int
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		if e.lambda > 0 {
			columns, _ := e.graph.Row(p)
			for _, q := range columns {
				if int(q) < e.n && o.colour[q] >= 0 {
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
	o.points = vector.Resize(o.points, e.unlabelled)
	next := append([]int(nil), o.offsets...)
	for p, c := range o.colour {
		if c >= 0 {
			o.points[next[c]] = int32(p)
			next[c]++
		}
	}
}
