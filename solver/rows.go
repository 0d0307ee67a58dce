package solver

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

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
	size := e.k * e.d
	r.c, r.next, r.fixed = vector.Zeroed(r.c, size), vector.Resize(r.next, size), vector.Zeroed(r.fixed, size)
	for p, y := range e.fixed {
		if y >= 0 {
			kernel.Axpy(e.weight[p], e.at(p, p+1, &e.scratch), r.fixed[int(y)*e.d:int(y)*e.d+e.d])
		}
	}
	// The number of partial sums depends on the problem alone, so that the sums do not depend on the cores.
	r.chunks = 1
	if e.n > serial {
		r.chunks = max(2, min(64, 1<<24/size))
	}
	r.partials, r.masses = vector.Resize(r.partials, r.chunks*size), vector.Resize(r.masses, r.chunks*e.k)
}

func (r *rowSpace) dots(w *worker, lo, count int, listed []int32) []float32 {
	d, k := r.e.d, r.e.k
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
	d := r.e.d
	w.rows = vector.Resize(w.rows, tile*d)
	if r.e.coded() {
		for i, p := range listed {
			r.e.points.Rows(int(p), int(p)+1, w.rows[i*d:i*d+d])
		}
		return w.rows[:len(listed)*d]
	}
	kernel.Prefetch(r.e.u, d, listed)
	for i, p := range listed {
		copy(w.rows[i*d:i*d+d], r.e.u[int(p)*d:int(p)*d+d])
	}
	return w.rows[:len(listed)*d]
}

func (r *rowSpace) dot(p, c int) float32 {
	d := r.e.d
	if r.e.coded() {
		return r.e.points.dot(p, r.c[c*d:c*d+d])
	}
	return kernel.Dot(r.e.u[p*d:p*d+d], r.c[c*d:c*d+d])
}

func (r *rowSpace) average(count int, base, density bool) {
	e, k, d := r.e, r.e.k, r.e.d
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
	clear(e.soft)
	if base {
		copy(r.next, r.fixed)
	}
	for block := range chunks {
		kernel.Axpy(1, r.partials[block*k*d:(block+1)*k*d], r.next)
		for c := range k {
			e.soft[c] += r.masses[block*k+c]
		}
	}
	for c := range k {
		mass := e.soft[c]
		if base {
			mass += e.held[c]
		}
		if mass >= leastMass {
			kernel.Scale(float32(1/mass), r.next[c*d:c*d+d])
			copy(r.c[c*d:c*d+d], r.next[c*d:c*d+d])
			e.length[c] = squaredLength(r.c[c*d : c*d+d])
		}
	}
}

// sum adds rows [lo, hi), weighted, to sum, and their weights to mass.
func (r *rowSpace) sum(w *worker, sum []float32, mass []float64, lo, hi int, density bool) {
	e, k, d := r.e, r.e.k, r.e.d
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
	d := r.e.d
	kernel.Scale(float32(by), r.c[c*d:c*d+d])
	r.e.length[c] *= by * by
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
	d := r.e.d
	return product(r.fixed[c*d:c*d+d], r.c[c*d:c*d+d])
}

func (r *rowSpace) squaredDistance(p, q int) float32 {
	d := r.e.d
	return kernel.SquaredDistance(r.e.u[p*d:p*d+d], r.e.u[q*d:q*d+d])
}

func (r *rowSpace) prototypes(out []float32) { copy(out, r.c) }

func (r *rowSpace) labelledDots(out []float32) {
	e, k, d := r.e, r.e.k, r.e.d
	clear(r.next)
	for p, y := range e.fixed {
		if y >= 0 && e.count[p] > 0 {
			kernel.Axpy(e.count[p], e.u[p*d:p*d+d], r.next[int(y)*d:int(y)*d+d])
		}
	}
	for c := range k {
		vector.Unit(r.next[c*d:c*d+d], r.next[c*d:c*d+d])
	}
	kernel.Products(out, e.u[:e.n*d], r.next, e.n, k, d)
}

func (r *rowSpace) precise(out *exact) {
	k, d := r.e.k, r.e.d
	for c := range k {
		out.length[c] = squaredLength(r.c[c*d : c*d+d])
	}
	blocks := (r.e.rows + tile - 1) / tile
	r.e.pool.run(blocks, func(w *worker, block int) {
		for p := block * tile; p < min(r.e.rows, (block+1)*tile); p++ {
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
	s, d := r.e.counted(), r.e.d
	rows := r.e.at(lo, lo+n, &w.rows)
	for p := lo; p < lo+n; p++ {
		if r.e.label[p] >= 0 {
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
