package index

import (
	"context"
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Parameters of the sketches of rows of many dimensions, compared on images of 784 dimensions.

const (
	sketchFrom     = 256 // dimensions from which on rows are sketched
	sketched       = 96  // dimensions of a sketch
	sketchLists    = 4   // length of its lists for each neighbour wanted
	sketchSample   = 2048
	sketchFaithful = .93 // share of the nearest in a sample that must be among twice as many by sketches
)

// sketch fills s with the rows of p projected on the directions in which they vary most, and with the norms
// of p: values of pairs are those of p where the parts left out of two rows are orthogonal. It returns false
// if the nearest rows are not near in these directions.
func (w *Workspace) sketch(ctx context.Context, o Options, s *points) (bool, error) {
	p := &w.points
	if p.d < sketchFrom {
		return false, nil
	}
	_, axes, err := vector.Principal(p.sample(o.Seed, 0x5e7c), sketched)
	if err != nil {
		return false, err
	}
	directions := axes.Values
	if p.faithful(directions, o) < sketchFaithful {
		return false, nil
	}
	s.n, s.d, s.relative, s.absolute = p.n, sketched, p.relative, p.absolute
	s.rows = vector.Resize(s.rows, p.n*sketched)
	s.norms, s.low, s.high = p.norms, p.low, p.high
	return true, eachSpan(ctx, o, "sketch", p.n, block, func(_ int, at span) {
		kernel.Products(s.rows[at.from*sketched:], p.rows[at.from*p.d:], directions, at.to-at.from, sketched, p.d)
	})
}

// sample returns copies of rows drawn at random.
func (p *points) sample(seed, stream uint64) vector.Matrix {
	random := rand.New(rand.NewPCG(seed, stream))
	rows := vector.New(min(sketchSample, p.n), p.d)
	for i := range rows.N {
		copy(rows.Row(i), p.row(random.IntN(p.n)))
	}
	return rows
}

// faithful returns, for some rows of a sample, the share of the nearest that are among twice as many
// nearest by sketches.
func (p *points) faithful(directions []float32, o Options) float64 {
	rows, wanted := p.sample(o.Seed, 0xfa17), max(o.Rho, 5)
	count := rows.N
	norms := make([]float32, count)
	for i := range norms {
		norms[i] = kernel.Dot(rows.Row(i), rows.Row(i))
	}
	some := min(block/2, count)
	sketches := make([]float32, count*sketched)
	kernel.Products(sketches, rows.Values, directions, count, sketched, p.d)
	full, short := make([]float32, some*count), make([]float32, some*count)
	kernel.Products(full, rows.Values, rows.Values, some, count, p.d)
	kernel.Products(short, sketches, sketches, some, count, sketched)
	found := 0
	values := make([]float32, count)
	for i := range some {
		row, brief := full[i*count:(i+1)*count], short[i*count:(i+1)*count]
		for j := range values {
			values[j] = norms[j] - 2*row[j]
		}
		limit := smallest(values, min(wanted+1, count)) // the row itself is one of them
		for j := range values {
			values[j] = norms[j] - 2*brief[j]
		}
		briefLimit := smallest(values, min(2*wanted+1, count))
		for j := range row {
			if norms[j]-2*row[j] <= limit && norms[j]-2*brief[j] <= briefLimit {
				found++
			}
		}
	}
	return float64(found) / float64(some*min(wanted+1, count))
}

// descendSketched is descend on sketches, whose nearest rows are then compared in full. Lists of sketches are
// long to make up for their errors; the passes need no more of each than lists of whole rows would have. The
// sketches are copied in the order of a tree: those compared with each other are then near each other in memory.
func (w *Workspace) descendSketched(ctx context.Context, o Options, s *points) error {
	order, leaves, err := w.arrange(ctx, o, s)
	if err != nil {
		return err
	}
	w.lists.resetRough(s, max(int(sketchLists*float64(o.Rho)), 2*shortestList))
	if err = w.searchArranged(ctx, o, s, leaves, min(mostNear, max(o.Rho+o.Rho/2, fewestNear))); err != nil {
		return err
	}
	near := w.lists
	w.lists, w.snapshot = candidateLists{}, snapshot{}
	w.lists.resetRough(&w.points, max(o.Rho+o.Rho/2, shortestList))
	for _, worker := range w.workers {
		worker.products = vector.Resize(worker.products, block*block)
	}
	return eachSpan(ctx, o, "comparing", s.n, groupSize, func(number int, at span) {
		w.workers[number].compareListed(&w.points, &w.lists, &near, order, at)
	})
}

// arrange copies the rows in an order.
func (p *points) arrange(ctx context.Context, o Options, order []int32) error {
	before, norms := *p, make([]float32, p.n)
	p.rows, p.norms = make([]float32, p.n*p.d), norms
	p.low, p.high = norms, norms // an approximate search uses neither
	o.Progress = nil
	return eachSpan(ctx, o, "trees", p.n, block, func(_ int, at span) {
		ids := order[at.from:at.to]
		for i, id := range ids {
			before.ahead(ids, i)
			copy(p.row(at.from+i), before.row(int(id)))
			norms[at.from+i] = before.norms[id]
		}
	})
}

// compareListed compares rows of an order with those on their lists in near, which names rows by their
// positions in the order. It reads them in place: a tile would copy them to read them once or twice.
func (w *worker) compareListed(p *points, l, near *candidateLists, order []int32, some span) {
	var product [1]float32
	for at := some.from; at < some.to; at++ {
		i, first := order[at], at*near.length
		w.candidates = w.candidates[:0]
		for _, position := range near.ids[first : first+int(near.counts[at])] {
			w.candidates = append(w.candidates, order[position])
		}
		row := p.row(int(i))
		for k, id := range w.candidates {
			if k%4 == 0 {
				kernel.Prefetch(p.rows, p.d, w.candidates[min(k+4, len(w.candidates)):min(k+8, len(w.candidates))])
			}
			kernel.Products(product[:], row, p.row(int(id)), 1, 1, p.d) // bit for bit as in every tile
			l.insert(int(i), p.norms[id]-2*product[0], id)
		}
		l.lower(int(i))
	}
}
