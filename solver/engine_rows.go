package solver

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// leastMass is the mass below which a class keeps its prototype: R hardly depends on it, and the inverse of a
// smaller mass may overflow float32.
const leastMass = 1e-30

// space represents the prototypes, as rows of dimension d or as weights of an episode's rows. The same
// descent drives both engines, and they agree up to rounding.
type space interface {
	// dots returns the products x_p . C_k, k values a row, for count rows from lo on, or for the listed rows if
	// there is a list. The result lies in the worker's memory.
	dots(w *worker, lo, count int, listed []int32) []float32
	// dot is x_p . C_c.
	dot(p, c int) float32
	// average sets each prototype to the mean of rows 0 to count-1, weighted by episode.weigh, which gets
	// density. With base the labelled rows and the prior count too. A prototype with a mass below
	// leastMass stays unchanged.
	average(count int, base, density bool)
	// scale multiplies prototype c by a factor.
	scale(c int, by float64)
	// heldDot returns the product of prototype c and the weighted sum of its class's labelled rows and prior.
	heldDot(c int) float64
	squaredDistance(p, q int) float32
	// precise computes the products and squared lengths that R needs in float64, for every row.
	precise(out *exact)
	// labelledDots fills out, n x k, with the products of the rows and the unit mean of each
	// class's labelled items.
	labelledDots(out []float32)
}

// rowSpace stores prototypes as rows of dimension d. It is the engine for problems of any size.
type rowSpace struct {
	e        *episode
	c        []float32 // k x d, the prototypes
	fixed    []float32 // k x d: weighted sum of labelled rows and prior prototypes
	next     []float32 // k x d
	partials []float32 // chunks x k x d
	masses   []float64 // chunks x k
	chunks   int
}

// enter prepares the space for a descent.
func (r *rowSpace) enter() {
	e := r.e
	size := e.classes.k * e.rows.d
	r.c, r.next, r.fixed = vector.Zeroed(r.c, size), vector.Resize(r.next, size), vector.Zeroed(r.fixed, size)
	for p, y := range e.rows.countsFor {
		if y >= 0 {
			kernel.Axpy(e.rows.weight[p], e.at(p, p+1, &e.scratch.values), r.fixed[int(y)*e.rows.d:int(y)*e.rows.d+e.rows.d])
		}
	}
	// The number of partial sums depends on the problem alone, so that the sums do not depend on the cores.
	r.chunks = 1
	if e.rows.n > serial {
		r.chunks = max(2, min(64, 1<<24/size))
	}
	r.partials, r.masses = vector.Resize(r.partials, r.chunks*size), vector.Resize(r.masses, r.chunks*e.classes.k)
}

func (r *rowSpace) dots(w *worker, lo, count int, listed []int32) []float32 {
	d, k := r.e.rows.d, r.e.classes.k
	var rows []float32
	if listed != nil {
		rows = r.listed(w, listed)
	} else {
		rows = r.e.at(lo, lo+count, &w.rows)
	}
	out := w.dots[:count*k]
	kernel.Products(out, rows, r.c, count, k, d)
	return out
}

// listed gathers some rows in the worker's memory.
func (r *rowSpace) listed(w *worker, listed []int32) []float32 {
	d := r.e.rows.d
	w.rows = vector.Resize(w.rows, tile*d)
	if r.e.coded() {
		for i, p := range listed {
			r.e.rows.points.Rows(int(p), int(p)+1, w.rows[i*d:i*d+d])
		}
		return w.rows[:len(listed)*d]
	}
	kernel.Prefetch(r.e.rows.u, d, listed)
	for i, p := range listed {
		copy(w.rows[i*d:i*d+d], r.e.rows.u[int(p)*d:int(p)*d+d])
	}
	return w.rows[:len(listed)*d]
}

func (r *rowSpace) dot(p, c int) float32 {
	d := r.e.rows.d
	if r.e.coded() {
		return r.e.rows.points.dot(p, r.c[c*d:c*d+d])
	}
	return kernel.Dot(r.e.rows.u[p*d:p*d+d], r.c[c*d:c*d+d])
}

func (r *rowSpace) average(count int, base, density bool) {
	e, k, d := r.e, r.e.classes.k, r.e.rows.d
	chunk := (count + r.chunks - 1) / r.chunks
	chunk = max(tile, (chunk+tile-1)/tile*tile)
	chunks := (count + chunk - 1) / chunk
	e.pool.run(chunks, func(w *worker, block int) {
		sum, mass := r.partials[block*k*d:(block+1)*k*d], r.masses[block*k:(block+1)*k]
		clear(sum)
		clear(mass)
		r.sum(w, sum, mass, block*chunk, min(count, (block+1)*chunk), density)
	})
	clear(r.next)
	clear(e.mass.soft)
	if base {
		copy(r.next, r.fixed)
	}
	for block := range chunks {
		kernel.Axpy(1, r.partials[block*k*d:(block+1)*k*d], r.next)
		for c := range k {
			e.mass.soft[c] += r.masses[block*k+c]
		}
	}
	for c := range k {
		mass := e.mass.soft[c]
		if base {
			mass += e.mass.held[c]
		}
		if mass >= leastMass {
			kernel.Scale(float32(1/mass), r.next[c*d:c*d+d])
			copy(r.c[c*d:c*d+d], r.next[c*d:c*d+d])
			e.prototypes.length[c] = squaredLength(r.c[c*d : c*d+d])
		}
	}
}

// sum adds rows [lo, hi), weighted, to sum, and their weights to mass.
func (r *rowSpace) sum(w *worker, sum []float32, mass []float64, lo, hi int, density bool) {
	e, k, d := r.e, r.e.classes.k, r.e.rows.d
	for ; lo < hi; lo += tile {
		n := min(tile, hi-lo)
		if s := e.counted(); s.sparse() && !density {
			r.accumulateSparse(w, sum, mass, lo, n)
			continue
		}
		weights := e.weigh(w, lo, n, density)
		for i := range n {
			for c, v := range weights[i*k : i*k+k] {
				mass[c] += float64(v)
			}
		}
		kernel.Accumulate(sum, weights, e.at(lo, lo+n, &w.rows), n, k, d)
	}
}

func (r *rowSpace) scale(c int, by float64) {
	d := r.e.rows.d
	kernel.Scale(float32(by), r.c[c*d:c*d+d])
	r.e.prototypes.length[c] *= by * by
}

func squaredLength(x []float32) float64 { return product(x, x) }

// product returns the inner product in float64. Four independent sums hide the latency of the additions.
func product(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float64(a[i]) * float64(b[i])
		s1 += float64(a[i+1]) * float64(b[i+1])
		s2 += float64(a[i+2]) * float64(b[i+2])
		s3 += float64(a[i+3]) * float64(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i]) * float64(b[i])
	}
	return s0 + s1 + s2 + s3
}

func (r *rowSpace) heldDot(c int) float64 {
	d := r.e.rows.d
	return product(r.fixed[c*d:c*d+d], r.c[c*d:c*d+d])
}

func (r *rowSpace) squaredDistance(p, q int) float32 {
	d := r.e.rows.d
	return kernel.SquaredDistance(r.e.rows.u[p*d:p*d+d], r.e.rows.u[q*d:q*d+d])
}

func (r *rowSpace) labelledDots(out []float32) {
	e, k, d := r.e, r.e.classes.k, r.e.rows.d
	clear(r.next)
	for p, y := range e.rows.countsFor {
		if y >= 0 && e.rows.count[p] > 0 {
			kernel.Axpy(e.rows.count[p], e.rows.u[p*d:p*d+d], r.next[int(y)*d:int(y)*d+d])
		}
	}
	for c := range k {
		vector.Unit(r.next[c*d:c*d+d], r.next[c*d:c*d+d])
	}
	kernel.Products(out, e.rows.u[:e.rows.n*d], r.next, e.rows.n, k, d)
}

func (r *rowSpace) precise(out *exact) {
	k, d := r.e.classes.k, r.e.rows.d
	for c := range k {
		out.length[c] = squaredLength(r.c[c*d : c*d+d])
	}
	blocks := (r.e.rows.all + tile - 1) / tile
	r.e.pool.run(blocks, func(w *worker, block int) {
		for p := block * tile; p < min(r.e.rows.all, (block+1)*tile); p++ {
			row := r.e.at(p, p+1, &w.rows)
			out.own[p] = squaredLength(row)
			preciseDots(out.dots[p*k:p*k+k], row, r.c)
		}
	})
}

// preciseDots fills out with the float64 products of a row and some vectors, four at a time to hide the
// latency of the additions.
func preciseDots(out []float64, row, vectors []float32) {
	d := len(row)
	c := 0
	for ; c+4 <= len(out); c += 4 {
		v0, v1, v2, v3 := vectors[c*d:c*d+d], vectors[(c+1)*d:(c+1)*d+d], vectors[(c+2)*d:(c+2)*d+d], vectors[(c+3)*d:(c+3)*d+d]
		var s0, s1, s2, s3 float64
		for i, x := range row {
			x := float64(x)
			s0 += float64(v0[i]) * x
			s1 += float64(v1[i]) * x
			s2 += float64(v2[i]) * x
			s3 += float64(v3[i]) * x
		}
		out[c], out[c+1], out[c+2], out[c+3] = s0, s1, s2, s3
	}
	for ; c < len(out); c++ {
		var sum float64
		for i, v := range vectors[c*d : c*d+d] {
			sum += float64(v) * float64(row[i])
		}
		out[c] = sum
	}
}

// accumulateSparse adds the unlabelled rows of a tile to the sums and masses of the classes they keep. Shares
// up to 2^-24 are left out of the sums, where rounding would lose them.
func (r *rowSpace) accumulateSparse(w *worker, sum []float32, mass []float64, lo, n int) {
	s, d := r.e.counted(), r.e.rows.d
	rows := r.e.at(lo, lo+n, &w.rows)
	for p := lo; p < lo+n; p++ {
		if r.e.rows.label[p] >= 0 {
			continue
		}
		row := rows[(p-lo)*d : (p-lo+1)*d]
		for _, v := range s.elements(p) {
			c := int(v.class)
			mass[c] += float64(v.value)
			if v.value > 1.0/(1<<24) {
				kernel.Axpy(v.value, row, sum[c*d:c*d+d])
			}
		}
	}
}

// weigh returns the weights of a tile's rows, k values a row: S, and with density S times the kernel between
// row and prototype.
func (e *episode) weigh(w *worker, lo, n int, density bool) []float32 {
	if density {
		return e.densityWeights(w, lo, n)
	}
	return e.softWeights(w, lo, n)
}

// counted returns the S from which prototypes are computed: with HardStep the one-hot labels.
func (e *episode) counted() *assignments {
	if e.settings.Paper.HardStep {
		return &e.scratch.hard
	}
	return &e.s
}

// softWeights returns S of a tile, with zeros for labelled rows, which count by their own weight.
func (e *episode) softWeights(w *worker, lo, n int) []float32 {
	k, s := e.classes.k, e.counted()
	if e.rows.unlabelled == e.rows.n && !s.sparse() {
		return s.values[lo*k : (lo+n)*k]
	}
	out := w.weights[:n*k]
	s.expand(out, lo, n)
	for i := range n {
		if e.rows.label[lo+i] >= 0 {
			clear(out[i*k : i*k+k])
		}
	}
	return out
}

// densityWeights returns, for a tile, a row's weight in a class times the kernel between them, and adds up
// these values in density.
func (e *episode) densityWeights(w *worker, lo, n int) []float32 {
	k := e.classes.k
	out := w.weights[:n*k]
	e.kernels(out, e.prototypes.space.dots(w, lo, n, nil), lo, n, nil)
	s := e.counted()
	for i := range n {
		row, p := out[i*k:i*k+k], lo+i
		if y := e.rows.countsFor[p]; y >= 0 {
			near := row[y]
			clear(row)
			row[y] = near * e.rows.weight[p]
			continue
		}
		if !e.s.started || p >= e.rows.n {
			clear(row)
			continue
		}
		if !s.sparse() {
			for c, v := range s.row(p) {
				row[c] *= v
			}
			continue
		}
		var near [sparseWidth]float32
		shares := s.elements(p)
		for j, v := range shares {
			near[j] = row[v.class] * v.value
		}
		clear(row)
		for j, v := range shares {
			row[v.class] = near[j]
		}
	}
	sum := e.scratch.density[lo/tile*k : lo/tile*k+k]
	for i := range n {
		for c, v := range out[i*k : i*k+k] {
			sum[c] += v
		}
	}
	return out
}
