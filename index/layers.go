package index

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// How the layers of an HNSW graph are made. The numbers were compared on 50,000 clustered rows of 128 dimensions.
const (
	links       = 16        // of a row in an upper layer (the M of HNSW); twice as many in the lowest
	mostLinks   = 4 * links // of a row, with those from rows that chose it
	nearestEach = 24        // rows that a row's links are chosen from
	thinning    = 16        // an upper layer has one of so many rows of the layer below
	longEach    = 10        // one of so many rows of the lowest layer gets a link to a row drawn at random
)

// layer is a graph over some of the rows. Links are numbers of rows.
type layer struct {
	rows    []int32 // ascending
	offsets []int64 // the links of rows[i] are links[offsets[i]:offsets[i+1]]
	links   []int32
}

// linksOf are the links of the row at a place.
func (l *layer) linksOf(place int) []int32 { return l.links[l.offsets[place]:l.offsets[place+1]] }

// layersOf makes the layers of an HNSW graph over the rows of w, the lowest one first. The lowest is made of the lists of w, which
// hold the nearest of each row. The last has one row, where searches begin, and that row is linked to every row of the layer
// below it, of which there are at most entries: rows in clusters that lie equally far from each other are found by looking at
// many of them, and by nothing else. The layers depend on the rows and the seed alone.
func (w *Workspace) layersOf(ctx context.Context, o Options, entries int) ([]layer, error) {
	p := &w.points
	random := rand.New(rand.NewPCG(o.Seed, 0x1a7e))
	order := random.Perm(p.n)
	sizes := []int{p.n}
	for n := p.n; n > entries; sizes = append(sizes, n) {
		n = max((n+thinning-1)/thinning, min(entries, n-1))
	}
	layers := make([]layer, len(sizes), len(sizes)+1)
	upper := new(Workspace)
	var some vector.Matrix
	for level := len(sizes) - 1; level > 0; level-- {
		rows := make([]int32, sizes[level])
		for i := range rows {
			rows[i] = int32(order[i])
		}
		slices.Sort(rows)
		some = some.Resized(len(rows), p.d)
		for i, row := range rows {
			copy(some.Row(i), p.row(int(row)))
		}
		if err := upper.points.take(some.Values, some.N, p.d, false); err != nil {
			return nil, err
		}
		if err := upper.nearestRough(ctx, o); err != nil {
			return nil, err
		}
		drawn, err := upper.linksChosen(ctx, o, links)
		if err != nil {
			return nil, err
		}
		layers[level] = drawn.layer(rows)
	}
	drawn, err := w.linksChosen(ctx, o, 2*links)
	if err != nil {
		return nil, err
	}
	for i := 0; i < p.n; i += longEach {
		j := int32(random.IntN(p.n))
		drawn.link(int32(i), j)
		drawn.link(j, int32(i))
	}
	all := make([]int32, p.n)
	for i := range all {
		all[i] = int32(i)
	}
	layers[0] = drawn.layer(all)
	first := int32(order[0])
	layers[len(layers)-1].linkToAll(first)
	return append(layers, layer{rows: []int32{first}, offsets: []int64{0, 0}}), nil
}

// nearestRough fills the lists with about nearestEach of the nearest of each row, so that few of the o.Rho nearest are missing.
func (w *Workspace) nearestRough(ctx context.Context, o Options) error {
	p, l := &w.points, &w.lists
	w.startWorkers(o.Workers)
	l.resetRough(p, max(o.Rho+o.Rho/2, nearestEach))
	w.graph = graph{}
	switch {
	case p.n > block:
		return w.refine(ctx, o)
	case p.n > 1:
		all := make([]int32, p.n)
		for i := range all {
			all[i] = int32(i)
		}
		w.workers[0].leaf(p, l, all)
	}
	return ctx.Err()
}

// linkLists are the links of a layer in the making, by place in the layer.
type linkLists struct {
	links []int32 // mostLinks for each row
	count []uint8
}

// link adds a link, unless it is there or the row has as many as it may.
func (l *linkLists) link(from, to int32) {
	at, count := int(from)*mostLinks, int(l.count[from])
	if from == to || count == mostLinks || slices.Contains(l.links[at:at+count], to) {
		return
	}
	l.links[at+count] = to
	l.count[from]++
}

// layer is the layer of the lists, whose places stand for rows.
func (l *linkLists) layer(rows []int32) layer {
	out := layer{rows: rows, offsets: make([]int64, len(rows)+1)}
	total := 0
	for _, count := range l.count {
		total += int(count)
	}
	out.links = make([]int32, 0, total)
	for i, count := range l.count {
		for _, place := range l.links[i*mostLinks : i*mostLinks+int(count)] {
			out.links = append(out.links, rows[place])
		}
		out.offsets[i+1] = int64(len(out.links))
	}
	return out
}

// linkToAll gives a row of l a link to every other one.
func (l *layer) linkToAll(row int32) {
	place, _ := slices.BinarySearch(l.rows, row)
	others := slices.Concat(l.rows[:place], l.rows[place+1:])
	more := int64(len(others) - len(l.linksOf(place)))
	l.links = slices.Concat(l.links[:l.offsets[place]], others, l.links[l.offsets[place+1]:])
	for i := place + 1; i < len(l.offsets); i++ {
		l.offsets[i] += more
	}
}

// linksChosen chooses at most so many links for each row of w from its list, and adds the way back of each where there is room, the
// nearest first.
func (w *Workspace) linksChosen(ctx context.Context, o Options, most int) (*linkLists, error) {
	n := w.points.n
	chosen, counts := make([]int32, n*most), make([]uint8, n)
	if err := eachRow(ctx, o, "links", n, func(number, i int) {
		counts[i] = uint8(w.workers[number].chooseLinks(&w.points, &w.lists, i, chosen[i*most:(i+1)*most]))
	}); err != nil {
		return nil, err
	}
	both := &linkLists{links: make([]int32, n*mostLinks), count: make([]uint8, n)}
	for i := range int32(n) {
		for _, j := range chosen[int(i)*most : int(i)*most+int(counts[i])] {
			both.link(i, j)
		}
	}
	for k := range most {
		for i := range int32(n) {
			if k < int(counts[i]) {
				both.link(chosen[int(i)*most+k], i)
			}
		}
	}
	return both, nil
}

// chooseLinks writes the links of row i to out and returns how many they are: the nearest on its list, but for those that are
// nearer to one chosen before than to the row, and then, up to the number links, the nearest of those left out.
func (w *worker) chooseLinks(p *points, l *candidateLists, i int, out []int32) int {
	from := i * l.length
	n := min(int(l.counts[i]), block)
	ids, values := l.ids[from:from+n], l.values[from:from+n]
	w.gather(p, ids)
	kernel.Gram(w.products, w.rows, n, p.d)
	chosen, left := w.places[:0], w.leftOut[:0]
	for c := range int32(n) {
		if len(chosen) == len(out) {
			break
		}
		covered := slices.ContainsFunc(chosen, func(k int32) bool {
			return w.norms[c]+w.norms[k]-2*w.products[int(c)*n+int(k)] < values[c]+p.norms[i]
		})
		if covered {
			left = append(left, c)
		} else {
			chosen = append(chosen, c)
		}
	}
	if missing := min(links, len(out)) - len(chosen); missing > 0 {
		chosen = append(chosen, left[:min(missing, len(left))]...)
	}
	w.leftOut = left
	for k, c := range chosen {
		out[k] = ids[c]
	}
	return len(chosen)
}
