package index

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Parameters of the layers of an HNSW graph. They were compared on clustered rows, images and embeddings:
// with links 16, searches compare more rows for the same recall, and the library takes twice as long to
// read the graph.
const (
	links       = 8         // that a row chooses at least, given enough candidates; at most twice as many
	mostLinks   = 8 * links // of a row, including those from rows that chose it
	nearestEach = 24        // rows that a row's links are chosen from
)

// layer is a graph over some of the rows. Links are numbers of rows.
type layer struct {
	rows    []int32
	offsets []int64 // the links of rows[i] are links[offsets[i]:offsets[i+1]]
	links   []int32
}

// linksOf returns the links of the row at a position.
func (l *layer) linksOf(position int) []int32 {
	return l.links[l.offsets[position]:l.offsets[position+1]]
}

// layersOf makes the layers of an HNSW graph over the rows of w, the lowest one first, from the lists of w,
// which hold the nearest of each row. order has near rows side by side. The lowest layer has all rows, the
// one above it entries, of which the first is linked to all others, and the highest that first one alone: a
// search compares its query with every entry and begins at the nearest. The layers depend on the rows and the
// seed alone.
func (w *Workspace) layersOf(ctx context.Context, o Options, order []int32) ([]layer, error) {
	chosen, err := w.linksChosen(ctx, o, order)
	if err != nil {
		return nil, err
	}
	lowest := chosen.layer()
	entries := lowest.entries(o.Seed)
	upper := layer{rows: entries, links: entries[1:], offsets: make([]int64, len(entries)+1)}
	for i := range entries {
		upper.offsets[i+1] = int64(len(upper.links))
	}
	return []layer{lowest, upper, {rows: entries[:1], offsets: []int64{0, 0}}}, nil
}

// entries returns rows such that every row is at most three links away from one: it draws rows at random and
// keeps those that are not that near to one kept before. Rows in clusters so have an entry in each
// cluster: if clusters are equally far from each other, no links lead from one to the next.
func (l *layer) entries(seed uint64) []int32 {
	random := rand.New(rand.NewPCG(seed, 0x1a7e))
	near := make([]bool, len(l.rows))
	var entries []int32
	for _, position := range random.Perm(len(l.rows)) {
		if near[position] {
			continue
		}
		entries = append(entries, int32(position))
		for _, one := range l.linksOf(position) {
			for _, two := range l.linksOf(int(one)) {
				near[one], near[two] = true, true
				for _, three := range l.linksOf(int(two)) {
					near[three] = true
				}
			}
		}
	}
	slices.Sort(entries)
	return entries
}

// nearestRough fills the lists with about nearestEach of the nearest of each row, so that few of the o.Rho
// nearest are missing. It returns the rows in an order that has near ones side by side.
func (w *Workspace) nearestRough(ctx context.Context, o Options) (order []int32, err error) {
	w.startWorkers(o.Workers)
	w.lists.resetRough(&w.points, max(o.Rho+o.Rho/2, nearestEach))
	w.snapshot = snapshot{}
	return w.search(ctx, o)
}

// linkLists are the links of the lowest layer while it is made.
type linkLists struct {
	links []int32 // mostLinks for each row
	count []uint8
}

// link adds a link, unless it is there or the row has mostLinks.
func (l *linkLists) link(from, to int32) {
	at, count := int(from)*mostLinks, int(l.count[from])
	if from == to || count == mostLinks || slices.Contains(l.links[at:at+count], to) {
		return
	}
	l.links[at+count] = to
	l.count[from]++
}

// layer returns the lowest layer, from the lists of all rows.
func (l *linkLists) layer() layer {
	n := len(l.count)
	out := layer{rows: make([]int32, n), offsets: make([]int64, n+1)}
	for i, count := range l.count {
		out.rows[i] = int32(i)
		out.offsets[i+1] = out.offsets[i] + int64(count)
	}
	out.links = make([]int32, 0, out.offsets[n])
	for i, count := range l.count {
		out.links = append(out.links, l.links[i*mostLinks:i*mostLinks+int(count)]...)
	}
	return out
}

// linksChosen chooses links for each row of w from its list, and adds the reverse of each where there is
// room, the nearest first.
func (w *Workspace) linksChosen(ctx context.Context, o Options, order []int32) (*linkLists, error) {
	const most = 2 * links
	n := w.points.n
	chosen, counts := make([]int32, n*most), make([]uint8, n)
	if err := eachRow(ctx, o, "links", n, func(number, at int) { // near rows are in the cache
		i := int(order[at])
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

// chooseLinks writes the links of row i to out and returns their number: the nearest on its list, without
// those that are nearer to one chosen before than to the row, and then, up to the number links, the nearest
// of those left out.
func (w *worker) chooseLinks(p *points, l *candidateLists, i int, out []int32) int {
	from := i * l.length
	n := min(int(l.counts[i]), block)
	ids, values := l.ids[from:from+n], l.values[from:from+n]
	w.gather(p, ids)
	kernel.Gram(w.products, w.rows, n, p.d)
	chosen, left := w.positions[:0], w.leftOut[:0]
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
