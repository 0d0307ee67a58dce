package metric

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Sketch is what a stream keeps of its past between episodes to make the next metric: the mean of all z, and
// the scatter C of their residuals, the sum of r r'. While they are few it keeps the residuals themselves.
// Later it keeps a few rows b, of which the sum of b b' is close to C: those of a root of
// (C D')(D C D')^-1 (D C) (Nyström), for a few directions D, one a row: those of the last metric, those in
// which residuals spread most beside it, and a few random ones, which notice new directions. An episode is added by
// thin products. A root can be kept in eight bits a number, where D C cannot: its inverse would raise what rounding
// does to the directions of little spread. A sketch is immutable; nil has seen nothing.
type Sketch struct {
	Count   float64
	Sum     []float64 // of rows times 1/|row - mu|, before mu is subtracted: mu moves with the labels
	Inverse float64   // the sum of those factors: the sum of z is Sum - Inverse mu

	Freedom float64   // degrees of freedom of the residuals
	Trace   float64   // of C
	Scales  []float32 // of each of Rows, or of each row of Root: what 1 stands for
	Rows    [][]byte  // the residuals, while they are few, in the Pieces of them all: vector.Halve

	Metric     *Metric // the last one, whose directions are the first of D; nil: none
	Directions []int8  // the next of D, all but the random ones: vector.Bytes of unit rows
	Root       []int8  // rows b, as many as D has: vector.Bytes
}

// Fits says whether the parts of a sketch have the sizes of one of dimension d.
func (r *Sketch) Fits(d int) bool {
	if d <= 0 || len(r.Sum) != d {
		return false
	}
	if m := len(r.Scales); r.Root == nil {
		bytes := 0
		for _, piece := range r.Rows {
			bytes += len(piece)
		}
		return len(r.Directions) == 0 && bytes == m*vector.HalfBytes(d)
	} else if len(r.Rows) > 0 || len(r.Root) != m*d {
		return false
	}
	given := len(r.Directions)
	if r.Metric != nil {
		given += len(r.Metric.Units)
	}
	return given%d == 0 && given <= len(r.Root)
}

// freedomKept bounds the degrees of freedom for each dimension that past residuals count for. With as many,
// the noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// Of the directions randomOnes are random.
const randomOnes = 4

// directions returns how many directions a sketch has for metrics of a rank: half as many again, and of a small
// rank as many as an eighth of the dimension, up to 48. More cost memory, and fewer lose what lies beside the
// metric; NOTES tells how much.
func directions(rank, d int) int { return min(max(rank+rank/2, min(d/8, 48)), d) }

// mostRows returns how many residuals a sketch keeps before it has a root, whose rows and directions take twice the memory
// of a residual.
func mostRows(rank, d int) int { return 4 * directions(rank, d) }

// Rows are the rows of a solved episode in z-space, with mu, 1/|row - mu| of each, and their S of K classes.
type Rows struct {
	Z, Mean, Inverse, S []float32
	K                   int
}

// With returns r with a solved episode added: its rows to the mean, and their residuals, of which a metric of
// a rank will be made; rank 0 drops all residuals. r may be nil.
func (r *Sketch) With(of Rows, rank int) *Sketch {
	d := len(of.Mean)
	next := Sketch{Sum: make([]float64, d)}
	if r != nil {
		next = *r
		next.Sum = slices.Clone(r.Sum)
	}
	mean := Scatter{Dimension: d, Count: next.Count, Sum: next.Sum}
	mean.Observe(of.Z)
	next.Count = mean.Count
	inverse := 0.
	for _, v := range of.Inverse {
		inverse += float64(v)
	}
	next.Inverse += inverse
	for i, v := range of.Mean {
		next.Sum[i] += inverse * float64(v)
	}
	if most := freedomKept * float64(d); next.Count > most {
		for i := range next.Sum {
			next.Sum[i] *= most / next.Count
		}
		next.Inverse *= most / next.Count
		next.Count = most
	}
	if rank == 0 {
		return next.bare()
	}
	next.add(of, rank)
	return &next
}

// bare returns r without residuals.
func (r *Sketch) bare() *Sketch { return &Sketch{Count: r.Count, Sum: r.Sum, Inverse: r.Inverse} }

// add adds the residuals of an episode.
func (r *Sketch) add(of Rows, rank int) {
	d := len(of.Mean)
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	w.scatter.Dimension = d
	rows, freedom := w.scatter.PointResiduals(of.Z, of.S, of.K)
	r.Freedom += freedom
	r.Trace += squares(rows, d)
	if r.Root == nil && len(r.Scales)+len(rows)/d <= mostRows(rank, d) {
		r.keep(rows)
		return
	}
	r.rows(w)
	w.rows = append(w.rows, rows...)
	if most := freedomKept * float64(d); r.Freedom > most {
		kernel.Scale(float32(math.Sqrt(most/r.Freedom)), w.rows)
		r.Trace *= most / r.Freedom
		r.Freedom = most
	}
	if r.Root == nil {
		r.aim(w, w.rows, rank)
	}
	r.pack(w, w.rows)
}

// keep adds rows to those that are kept.
func (r *Sketch) keep(rows []float32) {
	d := len(r.Sum)
	size, most := vector.HalfBytes(d), pieceOf(d)
	r.Rows = slices.Clone(r.Rows)
	r.Scales = append(make([]float32, 0, len(r.Scales)+len(rows)/d), r.Scales...)
	for len(rows) > 0 {
		last := len(r.Rows) - 1
		if last < 0 || len(r.Rows[last]) >= most {
			r.Rows, last = append(r.Rows, nil), last+1
		}
		before := r.Rows[last] // other sketches share it
		piece := make([]byte, min(most, len(before)+len(rows)/d*size))
		for at := copy(piece, before); at < len(piece); at += size {
			r.Scales = append(r.Scales, vector.Halve(piece[at:at+size], rows[:d]))
			rows = rows[d:]
		}
		r.Rows[last] = piece
	}
}

// pieceOf is how many bytes of residuals of dimension d are in one piece: sketches of a stream share all but the last, and
// the allocator rounds up what is larger.
func pieceOf(d int) int {
	size := max(1, vector.HalfBytes(d))
	return max(1, pieceBytes/size) * size
}

const pieceBytes = 8 << 10

// Pieces returns residuals of dimension d as a sketch has them.
func Pieces(rows []byte, d int) [][]byte { return slices.Collect(slices.Chunk(rows, pieceOf(d))) }

// decode fills in a workspace's directions, as many as r has scales, as unit rows, the random ones last.
func (r *Sketch) decode(w *workspace) {
	d, at := len(r.Sum), 0
	w.directions = vector.Resize(w.directions, len(r.Scales)*d)
	if r.Metric != nil {
		at = len(r.Metric.Units)
		vector.Longs(w.directions, r.Metric.Units, 1)
	}
	vector.FromBytes(w.directions[at:], r.Directions)
	vector.Noise(w.directions[at+len(r.Directions):])
	for ; at < len(w.directions); at += d {
		vector.Unit(w.directions[at:at+d], w.directions[at:at+d])
	}
}

// rows fills in a workspace with rows b of which the sum of b b' is close to C.
func (r *Sketch) rows(w *workspace) {
	m, d := len(r.Scales), len(r.Sum)
	w.rows = vector.Resize(w.rows, m*d)
	if r.Root != nil {
		vector.FromBytes(w.rows, r.Root)
		for i, scale := range r.Scales {
			kernel.Scale(scale, w.rows[i*d:i*d+d])
		}
		return
	}
	size := vector.HalfBytes(d)
	at := 0
	for _, piece := range r.Rows {
		for row := range slices.Chunk(piece, size) {
			vector.Unhalve(w.rows[at*d:at*d+d], row, r.Scales[at])
			at++
		}
	}
}

// pack keeps the root of the scatter of rows.
func (r *Sketch) pack(w *workspace, rows []float32) {
	d := len(r.Sum)
	m := len(r.Scales)
	r.decode(w)
	w.products = vector.Zeroed(w.products, m*d)
	w.addScatter(w.products, w.directions, rows, d)
	w.root = vector.Zeroed(w.root, m*d)
	w.rooted(m, d)
	r.Root, r.Scales = make([]int8, m*d), make([]float32, m)
	for i := range m {
		row := w.root[i*d : i*d+d]
		if most := kernel.Largest(row); most >= leastScale {
			vector.Bytes(r.Root[i*d:i*d+d], row)
			r.Scales[i] = most / math.MaxInt8
		}
	}
}

// leastScale is the largest number of a row below which it is no direction.
const leastScale = 1e-30

// rooted fills in the root of the scatter of which a workspace has the products with m directions, rows b of which the sum
// of b b' is close to it; zeros while nothing spreads.
func (w *workspace) rooted(m, d int) {
	w.along = vector.Resize(w.along, m*m)
	kernel.Products(w.along, w.directions, w.products, m, m, d)
	w.within, w.factor = vector.Resize(w.within, m*m), vector.Resize(w.factor, m*m)
	trace := 0.
	for i := range m {
		for j := i; j < m; j++ {
			w.within[i*m+j] = float64(w.along[i*m+j]+w.along[j*m+i]) / 2 // D C D'
		}
		trace += w.within[i*m+i]
	}
	if !(trace > 0) || math.IsInf(trace, 1) { // a restored state may hold any numbers
		return
	}
	// With U'U = D C D', the rows are those of U'^-1 (D C). Rounding, and more directions than rows, leave no
	// U until the diagonal is raised.
	raised := leastShare * trace / float64(m)
	for ; ; raised *= 4 {
		if raised > trace { // not the products of a scatter
			return
		}
		copy(w.factor, w.within)
		for i := range m {
			w.factor[i*m+i] += raised
		}
		product := blas64.Symmetric{Uplo: blas.Upper, N: m, Stride: m, Data: w.factor}
		if upper, ok := lapack64.Potrf(product); ok {
			if !lapack64.Trtri(upper) {
				return
			}
			break
		}
	}
	for i := range m {
		for j := range m {
			if w.along[i*m+j] = 0; j >= i {
				w.along[i*m+j] = float32(w.factor[i*m+j])
			}
		}
	}
	kernel.Accumulate(w.root, w.along, w.products, m, m, d)
}

// leastShare is what is added at first to each value of a diagonal, as a share of their mean.
const leastShare = 1e-5

// about returns r with the directions of a metric, and those beside it, given the rows of r; without
// residuals if the metric was made of no rows.
func (r *Sketch) about(w *workspace, m *Metric, rows []float32, rank int) *Sketch {
	if len(rows) == 0 {
		return r.bare()
	}
	next := *r
	next.Metric = m
	if r.Root != nil {
		next.aim(w, rows, rank)
		next.pack(w, rows)
	}
	return &next
}

// aim chooses the directions beside the metric for rows. Of what the metric's directions leave of the rows, random
// combinations multiplied with their scatter twice are nearly the directions in which they spread most.
func (r *Sketch) aim(w *workspace, rows []float32, rank int) {
	d := len(r.Sum)
	m, known := directions(rank, d), 0
	if r.Metric != nil {
		known = len(r.Metric.Scales)
	}
	r.Rows, r.Directions = nil, make([]int8, max(m-known-randomOnes, 0)*d)
	if length := len(r.Directions); length > 0 {
		w.some, w.left = vector.Resize(w.some, 2*length), append(w.left[:0], rows...)
		if known > 0 {
			none := Map{Centre: w.some[:d], Scales: make([]float32, known)} // of which only the size counts
			none.Vectors = vector.Resize(w.directions, known*d)
			vector.Longs(none.Vectors, r.Metric.Units, 1)
			w.along = vector.Resize(w.along, len(rows)/d*known)
			none.Shrink(w.left, w.along)
			w.directions = none.Vectors
		}
		some, found := w.some[:length], w.some[length:]
		vector.Noise(some)
		for range 2 {
			clear(found)
			w.addScatter(found, some, w.left, d)
			some, found = found, some
		}
		vector.Orthonormal(found, some, d, 1)
		for from := 0; from < length; from += d {
			vector.Bytes(r.Directions[from:from+d], found[from:from+d])
		}
	}
	r.Scales = make([]float32, m)
}

// addScatter adds to products of dimension d those of vectors with the sum of r r' over rows r.
func (w *workspace) addScatter(products, vectors, rows []float32, d int) {
	n, m := len(rows)/d, len(vectors)/d
	w.along = vector.Resize(w.along, n*m)
	kernel.Products(w.along, rows, vectors, n, m, d)
	kernel.Accumulate(products, w.along, rows, n, m, d)
}

// workspace holds a sketch at full precision, while residuals are added or a metric is made.
type workspace struct {
	scatter                                             Scatter // its workspace alone
	rows, directions, products, root, along, some, left []float32
	within, factor                                      []float64
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// WorkspaceBytes returns the memory that learning from an episode takes, beside what a stream keeps: rows,
// twice, and the directions that are chosen for them, with their products and the root.
func WorkspaceBytes(rank, d int) int { return 4 * (2*mostRows(rank, d) + 5*directions(rank, d)) * d }
