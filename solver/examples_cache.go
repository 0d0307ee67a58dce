package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// ExampleCache keeps what labelled rows outside of episodes are in z- and u-space, for one mean and one metric.
// A Problem with the same ExampleCache as the problem before reuses it while sets, mean and metric stay
// the same. It does not hold the rows themselves. The zero value is empty and ready to use. Only one solve
// may use it at a time.
type ExampleCache struct {
	sets           []uint64 // ids of its sets
	names, without []int32
	k              int
	mean           []float32 // never changed: streams of one mean share it
	metric         *metric.Metric
	ready          bool // computed for mean and metric

	label   []int32   // rows: the problem's class, -1: not in force
	members []float64 // k: rows in force

	along   []setAlong // of each set in use; none above alongMost rows
	alongBy *metric.Metric
	shifts  []float32 // (sets + 1) x directions: scaleAlong of each set's delta, and of the metric's centre

	inverse []float32 // rows: z = inverse (y - delta), y the set's row
	square  []float32 // rows: |z - centre|^2
	by      []float32 // rows: |by metric(z - centre)| = 1; 0 if its length is 0
	sums    []float32 // k x d: of by (z - centre); empty up to addedMost rows
	drawn   []float32 // k x directions: sums of by scaleAlong of z - centre
	lengths []float32 // k: squared lengths of the sums in u-space
	unit    []float64 // k: rows that have a length

	remembered remembered
}

// setAlong are the rows of a set along the directions of a metric. They do not depend on the mean.
type setAlong struct {
	id   uint64    // the set's
	rows []float32 // rows x directions: scaleAlong of y
}

// Release drops the metric, which the next solve will not use. nil is allowed.
func (l *ExampleCache) Release() {
	if l != nil {
		l.metric, l.ready, l.along, l.alongBy = nil, false, nil, nil
	}
}

// Bytes returns the memory that l holds.
func (l *ExampleCache) Bytes() int {
	if l == nil {
		return 0
	}
	floats := cap(l.mean) + cap(l.inverse) + cap(l.square) + cap(l.by) + cap(l.shifts) + cap(l.sums) +
		cap(l.drawn) + cap(l.lengths)
	for _, a := range l.along {
		floats += cap(a.rows)
	}
	return 4*(floats+cap(l.label)+cap(l.names)+cap(l.without)) + 8*(cap(l.sets)+cap(l.members)+cap(l.unit)) +
		l.remembered.bytes()
}

// alongMost bounds the rows for which the products with the directions of a metric are kept. Above it each
// item is multiplied with every row twice, which saves 32 values a row for each stream.
const alongMost = 4096

// addedMost bounds the rows whose sums are not kept, as they are added up anew soon: a sum takes as much
// memory as a vector, for each class and stream.
const addedMost = 256

// follow sets the sets that l is prepared for, and lists their rows in force.
func (l *ExampleCache) follow(list []ExampleSet, k int) {
	if l.of(list, k) {
		return
	}
	l.sets, l.names, l.without, l.label = l.sets[:0], l.names[:0], l.without[:0], l.label[:0]
	l.k, l.ready = k, false
	l.members = vector.Zeroed(l.members, k)
	for _, b := range list {
		l.sets, l.names = append(l.sets, b.id), append(l.names, b.Names...)
		l.without = append(append(l.without, int32(len(b.Without))), b.Without...)
		from := len(l.label)
		for _, c := range b.class {
			l.label = append(l.label, b.Names[c])
		}
		for _, i := range b.Without {
			l.label[from+int(i)] = -1
		}
		for _, c := range l.label[from:] {
			if c >= 0 {
				l.members[c]++
			}
		}
	}
}

// of says whether l was made from these sets.
func (l *ExampleCache) of(list []ExampleSet, k int) bool {
	if l.k != k || len(l.sets) != len(list) {
		return false
	}
	names, without := l.names, l.without
	for i, b := range list {
		if l.sets[i] != b.id || !slices.Equal(names[:b.k], b.Names) || int(without[0]) != len(b.Without) ||
			!slices.Equal(without[1:1+len(b.Without)], b.Without) {
			return false
		}
		names, without = names[b.k:], without[1+len(b.Without):]
	}
	return true
}

// prepareWork is the workspace of prepare, and what it computes anew for each problem.
type prepareWork struct {
	mean     []float32   // of the last ExampleCache that was prepared
	row      []float32   // d
	along    []float32   // tile x directions
	products []float32   // tile x 2
	pair     []float32   // 2 x d: a set's delta, and the metric's centre
	sums     []float32   // of an ExampleCache that does not keep them
	deltas   []float32   // sets x d: mean less reference
	centred  metric.Map  // the problem's, about mean
	metric   *metric.Map // centred, or nil: none
}

// prepare computes the rows of the sets that l follows.
func (l *ExampleCache) prepare(list []ExampleSet, mean []float32, m *metric.Metric, w *prepareWork) {
	d, n := len(mean), len(l.label)
	w.deltas = vector.Resize(w.deltas, len(list)*d)
	for s, b := range list {
		copy(w.deltas[s*d:], mean)
		kernel.Axpy(-1, b.reference, w.deltas[s*d:s*d+d])
	}
	w.metric = nil
	if m != nil {
		w.metric = &w.centred
		m.About(mean, w.metric)
	}
	if l.ready && l.metric == m && slices.Equal(l.mean, mean) {
		return
	}
	if !slices.Equal(w.mean, mean) {
		w.mean = slices.Clone(mean)
	}
	l.mean, l.metric, l.ready = w.mean, m, true
	l.remembered.forget()
	l.inverse, l.square, l.by = vector.Zeroed(l.inverse, n), vector.Zeroed(l.square, n), vector.Zeroed(l.by, n)
	l.unit = vector.Zeroed(l.unit, l.k)
	l.findAlong(list, w.metric, m)
	directions := 0
	if m != nil {
		directions = len(m.Scales)
		l.shifts = vector.Resize(l.shifts, (len(list)+1)*directions)
		kernel.Products(l.shifts, w.deltas, w.metric.Vectors, len(list), directions, d)
		kernel.Products(l.shifts[len(list)*directions:], w.metric.Centre, w.metric.Vectors, 1, directions, d)
		scaleAlong(l.shifts, m.Scales)
	}
	l.drawn, l.lengths = vector.Zeroed(l.drawn, l.k*directions), vector.Resize(l.lengths, l.k)
	first := 0
	for s, b := range list {
		for from := 0; from < b.Len(); from += tile {
			l.prepareTile(w, b.Examples, s, first+from, from, min(tile, b.Len()-from))
		}
		first += b.Len()
	}
	l.sums = l.sums[:0]
	sums := l.added(list, w)
	for c := range l.lengths {
		row := sums[c*d : c*d+d]
		if l.lengths[c] = kernel.Dot(row, row); m != nil {
			l.lengths[c] = max(0, metric.LengthAlong(l.lengths[c], l.drawn[c*directions:(c+1)*directions], m.Scales))
		}
	}
}

// findAlong fills along for sets and metric. A set keeps its rows of before as long as the metric stays.
func (l *ExampleCache) findAlong(list []ExampleSet, centred *metric.Map, m *metric.Metric) {
	if m == nil || len(m.Scales) == 0 || len(l.label) > alongMost {
		l.along, l.alongBy = nil, nil
		return
	}
	if l.alongBy != m {
		l.along, l.alongBy = nil, m
	}
	next := make([]setAlong, 0, len(list))
	for _, b := range list {
		at := slices.IndexFunc(l.along, func(a setAlong) bool { return a.id == b.id })
		if at >= 0 {
			next = append(next, l.along[at])
			continue
		}
		rows := make([]float32, b.Len()*len(m.Scales))
		kernel.Products(rows, b.rows, centred.Vectors, b.Len(), len(m.Scales), b.d)
		scaleAlong(rows, m.Scales)
		next = append(next, setAlong{b.id, rows})
	}
	l.along = next
}

// added returns the sums of the classes, which are kept or valid until the next call with w.
func (l *ExampleCache) added(list []ExampleSet, w *prepareWork) []float32 {
	if len(l.sums) > 0 {
		return l.sums
	}
	memory := &w.sums
	if len(l.label) > addedMost {
		memory = &l.sums
	}
	d, at := len(l.mean), 0
	*memory = vector.Zeroed(*memory, l.k*d)
	sums := *memory
	w.along = vector.Zeroed(w.along, 2*l.k)
	scaled, all := w.along[:l.k], w.along[l.k:] // by class: the sums of by inverse of a set, and of by
	for s, b := range list {
		clear(scaled)
		for i := range b.class {
			if c, by := l.label[at+i], l.by[at+i]; c >= 0 && by > 0 {
				kernel.Axpy(by*l.inverse[at+i], b.rows[i*d:i*d+d], sums[int(c)*d:int(c)*d+d])
				scaled[c] += by * l.inverse[at+i]
				all[c] += by
			}
		}
		for c, v := range scaled {
			kernel.Axpy(-v, w.deltas[s*d:s*d+d], sums[c*d:c*d+d])
		}
		at += b.Len()
	}
	for c, v := range all {
		if w.metric != nil {
			kernel.Axpy(-v, w.metric.Centre, sums[c*d:c*d+d])
		}
	}
	return sums
}

// prepareTile prepares count rows of set s. at is the number of the first among the rows of all sets. What
// is known of a row of the set gives what is wanted of its z, unless the row is so near to the mean that
// rounding would show, or its square overflows: then z is computed.
func (l *ExampleCache) prepareTile(w *prepareWork, set *Examples, s, at, from, count int) {
	if !slices.ContainsFunc(l.label[at:at+count], func(c int32) bool { return c >= 0 }) {
		return
	}
	d, m, directions := set.d, w.metric, 0
	delta := w.deltas[s*d : s*d+d]
	w.pair = append(w.pair[:0], delta...)
	var shift, centre []float32 // along the directions
	var deltaCentre, centreSquare float64
	if m != nil {
		w.pair, directions = append(w.pair, m.Centre...), len(m.Scales)
		shift, centre = l.shifts[s*directions:(s+1)*directions], l.shifts[len(l.shifts)-directions:]
		deltaCentre = float64(kernel.Dot(delta, m.Centre))
		centreSquare = float64(kernel.Dot(m.Centre, m.Centre))
	}
	deltaSquare, pair := float64(kernel.Dot(delta, delta)), len(w.pair)/d
	w.products = vector.Resize(w.products, count*pair)
	kernel.Products(w.products, set.rows[from*d:(from+count)*d], w.pair, count, pair, d)
	w.along = vector.Resize(w.along, count*directions)
	if len(l.along) > 0 {
		copy(w.along, l.along[s].rows[from*directions:])
	} else if m != nil {
		kernel.Products(w.along, set.rows[from*d:(from+count)*d], m.Vectors, count, directions, d)
		scaleAlong(w.along, m.Scales)
	}
	for i := range count {
		own := float64(set.squares[from+i])
		squared := own - 2*float64(w.products[i*pair]) + deltaSquare
		inverse := 1 / math.Sqrt(squared)
		if !(squared >= 1e-5*(own+deltaSquare)) || squared == 0 {
			w.row = vector.Resize(w.row, d)
			inverse = float64(set.unit(w.row, from+i, delta))
		}
		square := centreSquare // of a zero row
		if inverse > 0 {
			square++
			if m != nil {
				square -= 2 * inverse * (float64(w.products[i*pair+1]) - deltaCentre)
			}
		}
		l.inverse[at+i], l.square[at+i] = float32(inverse), float32(max(0, square))
		along, length := w.along[i*directions:i*directions+directions], l.square[at+i]
		if m != nil {
			kernel.Axpy(-1, shift, along)
			kernel.Scale(float32(inverse), along)
			kernel.Axpy(-1, centre, along)
			length = metric.LengthAlong(length, along, m.Scales)
		}
		if length > metric.LeastLength {
			l.by[at+i] = float32(1 / math.Sqrt(float64(length)))
		}
		if c := l.label[at+i]; c >= 0 && l.by[at+i] > 0 {
			l.unit[c]++
			kernel.Axpy(l.by[at+i], along, l.drawn[int(c)*directions:(int(c)+1)*directions])
		}
	}
}

// unit writes row i in z-space and returns the factor that scaled it to length 1, 0 for a zero row.
func (l *Examples) unit(out []float32, i int, delta []float32) float32 {
	copy(out, l.rows[i*l.d:i*l.d+l.d])
	kernel.Axpy(-1, delta, out)
	squared := kernel.Dot(out, out)
	if !(squared > 0) {
		return 0
	}
	inverse := float32(1 / math.Sqrt(float64(squared)))
	kernel.Scale(inverse, out)
	return inverse
}

// scaleAlong multiplies rows of products with the directions of a metric by their alongScale.
func scaleAlong(rows, scales []float32) {
	for j, s := range scales {
		by := metric.AlongScale(s)
		for at := j; at < len(rows); at += len(scales) {
			rows[at] *= by
		}
	}
}

// z appends all rows in z-space to out. A row that is not in force is appended as zeros.
func (b *exampleWork) z(out []float32) []float32 {
	label, d := b.cache.label, len(b.cache.mean)
	out = slices.Grow(out, len(label)*d)
	for i, c := range label {
		if c >= 0 {
			out = b.row(out, i)
		} else {
			out = out[:len(out)+d]
			clear(out[len(out)-d:])
		}
	}
	return out
}

// row appends row i of all sets, in z-space, to out.
func (b *exampleWork) row(out []float32, i int) []float32 {
	d, s, from := len(b.cache.mean), 0, len(out)
	for ; i >= b.list[s].Len(); s++ {
		i -= b.list[s].Len()
	}
	out = slices.Grow(out, d)[:from+d]
	b.list[s].unit(out[from:], i, b.deltas[s*d:s*d+d])
	return out
}
