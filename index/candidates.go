package index

import (
	"context"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// candidateLists keep, for each row, the best candidates seen so far, ordered by |y|^2 - 2xy as the tiles
// compute it, ties by id. They are longer than the answer, so that rounding rarely drops a neighbour. A list
// depends on the set of candidates offered, not on their order.
type candidateLists struct {
	points  *points
	rho     int     // neighbours wanted
	length  int     // of a list
	of      []int32 // the row of each list, if not all rows have one
	rough   bool    // of an approximate search: it reads the norms only of rows in its tile
	counts  []int32
	values  []float32
	ids     []int32
	limits  []float32 // a candidate j of row i matters only if low[j] - 2xy <= limits[i]
	dropped []float32 // lower bound of the true value of any dropped candidate
}

// spare is how many candidates a list keeps beyond the neighbours wanted.
const spare = 8

// reset makes empty lists: one for each row in some, or for each row of p if some is nil.
func (l *candidateLists) reset(p *points, rho int, some []int32) {
	n := p.n
	if some != nil {
		n = len(some)
	}
	l.of = some
	l.empty(p, n, rho, spare, false)
}

// resetRough makes empty lists of an approximate search, one for each row. A candidate dropped by rounding
// would be among the last of its list, which are spare: limits are values as computed, and dropped candidates
// are not recorded. Bounds would need the norm of every row on the list, and these are scattered over memory.
func (l *candidateLists) resetRough(p *points, rho int) {
	l.of = nil
	l.empty(p, p.n, rho, 0, true)
}

func (l *candidateLists) empty(p *points, n, rho, spare int, rough bool) {
	l.points, l.rho, l.rough = p, min(rho, p.n-1), rough
	l.length = l.rho + spare
	l.counts, l.limits = vector.Resize(l.counts, n), vector.Resize(l.limits, n)
	if !rough {
		l.dropped = vector.Resize(l.dropped, n)
	}
	l.values, l.ids = vector.Resize(l.values, n*l.length), vector.Resize(l.ids, n*l.length)
	clear(l.counts)
	for i := range l.limits {
		l.limits[i] = infinity
		if !rough {
			l.dropped[i] = infinity
		}
	}
}

// ahead is points.ahead for the lists; each takes a few cache lines in four arrays.
func (l *candidateLists) ahead(ids []int32, at int) {
	const some = prefetched / 4
	if at%some == 0 && at+some < len(ids) {
		next := ids[at+some : min(at+2*some, len(ids))]
		kernel.Prefetch(l.limits, 1, next)
		kernel.Prefetch(l.counts, 1, next)
		kernel.Prefetch(l.values, l.length, next)
		kernel.Prefetch(l.ids, l.length, next)
	}
}

// row returns the row that list i belongs to.
func (l *candidateLists) row(i int) int {
	if l.of == nil {
		return i
	}
	return int(l.of[i])
}

// margin returns how far apart two values of list i must be, beyond their own rows' shares of the bound.
func (l *candidateLists) margin(i int) float32 {
	return 2*l.points.relative*l.points.norms[l.row(i)] + 2*l.points.absolute
}

// restore turns lists of reordered rows, which name rows by their positions in order, into lists of the
// rows of p.
func (l *candidateLists) restore(ctx context.Context, o Options, p *points, order []int32) error {
	n := p.n
	l.points = p
	counts, limits, values := make([]int32, n), make([]float32, n), make([]float32, n*l.length)
	o.Progress = nil // the stage that follows reports
	if err := eachRow(ctx, o, "ranking", n, func(_, at int) {
		i := int(order[at])
		counts[i], limits[i] = l.counts[at], l.limits[at]
		copy(values[i*l.length:(i+1)*l.length], l.values[at*l.length:(at+1)*l.length])
	}); err != nil {
		return err
	}
	l.counts, l.limits, l.values = counts, limits, values
	ids := make([]int32, n*l.length) // only now: the values as they were may be freed
	if err := eachRow(ctx, o, "ranking", n, func(_, at int) {
		i := int(order[at])
		to := ids[i*l.length : (i+1)*l.length]
		for k, position := range l.ids[at*l.length : at*l.length+int(counts[i])] {
			to[k] = order[position]
		}
	}); err != nil {
		return err
	}
	l.ids = ids
	return nil
}

// offer inserts a candidate of row i and lowers the row's limit.
func (l *candidateLists) offer(i int, value float32, id int32) {
	l.insert(i, value, id)
	l.lower(i)
}

// lower lowers the limit of row i as far as its list allows.
func (l *candidateLists) lower(i int) {
	switch {
	case int(l.counts[i]) < l.rho:
	case l.rough:
		l.limits[i] = min(l.limits[i], l.values[i*l.length+l.rho-1])
	default:
		l.limits[i] = min(l.limits[i], l.reach(i)+l.margin(i))
	}
}

// insert inserts a candidate of row i and returns its position, or the length of the list if it was not
// inserted: because it is too far, or because it was there already, with the same value, which a pair has
// in every tile.
func (l *candidateLists) insert(i int, value float32, id int32) int {
	from := i * l.length
	values, ids := l.values[from:from+l.length], l.ids[from:from+l.length]
	count := int(l.counts[i])
	at := count
	for at > 0 && (values[at-1] > value || values[at-1] == value && ids[at-1] > id) {
		at--
	}
	if at > 0 && values[at-1] == value && ids[at-1] == id {
		return l.length
	}
	if at == l.length {
		l.drop(i, value, id)
		return l.length
	}
	if count == l.length {
		count--
		l.drop(i, values[count], ids[count])
	}
	for k := count; k > at; k-- {
		values[k], ids[k] = values[k-1], ids[k-1]
	}
	values[at], ids[at] = value, id
	l.counts[i] = int32(count + 1)
	return at
}

// drop records how near a dropped candidate can be.
func (l *candidateLists) drop(i int, value float32, id int32) {
	if l.rough {
		return
	}
	p := l.points
	l.dropped[i] = min(l.dropped[i], value-p.relative*p.norms[id]-p.absolute)
}

// reach returns an upper bound of the last wanted neighbour's true value, apart from row i's own share
// of the bound.
func (l *candidateLists) reach(i int) float32 {
	p, from := l.points, i*l.length
	most := -infinity
	for k := range l.rho {
		most = max(most, l.values[from+k]+p.relative*p.norms[l.ids[from+k]]+p.absolute)
	}
	return most
}

// bound lowers the limit of row i as far as a tile alone allows: among its columns, with the upper norms
// high, there are rho others that are at least as near. Without it every candidate of the first tile
// would be offered.
func (l *candidateLists) bound(i int, high, products []float32, minima []float32) {
	wanted := l.rho + 1 // one of the columns may be the row itself
	segments := (wanted + kernel.Groups/2 - 1) / (kernel.Groups / 2)
	width := len(products) / segments / kernel.Groups * kernel.Groups
	if width < 2*kernel.Groups || segments*kernel.Groups > len(minima) {
		return
	}
	minima = minima[:segments*kernel.Groups]
	for s := range segments {
		group := (*[kernel.Groups]float32)(minima[s*kernel.Groups:])
		for g := range group {
			group[g] = infinity
		}
		end := (s + 1) * width
		if s == segments-1 {
			end = len(products)
		}
		kernel.GroupMinima(group, high[s*width:end], products[s*width:end])
	}
	l.limits[i] = min(l.limits[i], smallest(minima, wanted)+l.margin(i))
}

// smallest returns the wanted-th smallest value. It reorders values.
func smallest(values []float32, wanted int) float32 {
	for i := 1; i < len(values); i++ {
		v := values[i]
		at := min(i, wanted)
		if at == wanted && v >= values[wanted-1] {
			continue
		}
		if at == wanted {
			at--
		}
		for ; at > 0 && values[at-1] > v; at-- {
			values[at] = values[at-1]
		}
		values[at] = v
	}
	return values[wanted-1]
}
