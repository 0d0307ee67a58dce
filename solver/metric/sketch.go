package metric

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Sketch is what a stream keeps of its past between episodes to make the next metric: the mean of all z, and
// of the scatter C of their residuals (the sum of r r') its products with a few directions D, one a row:
// those of the last metric, those in which residuals spread most beside them, and a few random ones, which
// notice new directions. (C D')(D C D')^-1 (D C) is close to C (Nyström), in a fraction of its memory, and
// an episode is added by two thin products. It is immutable; nil has seen nothing.
type Sketch struct {
	Count   float64
	Sum     []float64 // of rows times 1/|row - mu|, before mu is subtracted: mu moves with the labels
	Inverse float64   // the sum of those factors: the sum of z is Sum - Inverse mu

	Freedom    float64   // degrees of freedom of the residuals
	Trace      float64   // of C
	Directions []int8    // D without its random rows, which are last: unit rows but for their length
	Products   []int16   // D C: vector.ShortRows; nil: no residuals yet
	Scales     []float32 // of each row of Products
}

// freedomKept bounds the degrees of freedom for each dimension that past residuals count for. With as many,
// the noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// UnitScale is the scale at which streams store unit vectors with 16 bits a value.
const UnitScale = 1

// Of the directions randomOnes are random: all of them before the first metric, when there are twice as many.
const randomOnes = 4

// directions returns how many directions a sketch has once a metric of a rank was made. More cost memory, and
// fewer lose what lies beside the metric; NOTES tells how much.
func directions(rank, d int) int { return min(max(2*rank, d/8), d) }

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
		next.Freedom, next.Trace, next.Directions, next.Products, next.Scales = 0, 0, nil, nil, nil
		return &next
	}
	next.add(of, rank)
	return &next
}

// add adds the residuals of an episode.
func (r *Sketch) add(of Rows, rank int) {
	d := len(of.Mean)
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	w.scatter.Dimension = d
	rows, freedom := w.scatter.PointResiduals(of.Z, of.S, of.K)
	r.Freedom += freedom
	r.Trace += squares(rows, d)
	if r.Scales == nil {
		r.Scales = make([]float32, min(2*directions(rank, d), d))
		r.Products = make([]int16, len(r.Scales)*d)
	}
	n, m := len(rows)/d, len(r.Scales)
	r.unpack(w)
	w.along = vector.Resize(w.along, n*m)
	kernel.Products(w.along, rows, w.directions, n, m, d)
	kernel.Accumulate(w.products, w.along, rows, n, m, d)
	if most := freedomKept * float64(d); r.Freedom > most {
		kernel.Scale(float32(most/r.Freedom), w.products)
		r.Trace *= most / r.Freedom
		r.Freedom = most
	}
	r.Products, r.Scales = vector.ShortRows(w.products, d)
}

// unpack fills in a workspace's directions, as unit rows, and their products.
func (r *Sketch) unpack(w *workspace) {
	m := len(r.Scales)
	d := len(r.Sum)
	w.directions, w.products = vector.Resize(w.directions, m*d), vector.Resize(w.products, m*d)
	r.decode(w.directions)
	vector.LongRows(w.products, r.Products, r.Scales)
}

// decode fills in the directions as unit rows, the random ones last.
func (r *Sketch) decode(rows []float32) {
	d := len(r.Sum)
	for i, code := range r.Directions {
		rows[i] = float32(code)
	}
	vector.Noise(rows[len(r.Directions):])
	for from := 0; from < len(rows); from += d {
		vector.Unit(rows[from:from+d], rows[from:from+d])
	}
}

// rows returns rows b, at most one a direction, of which the sum of b b' is close to C; none while nothing
// spreads.
func (r *Sketch) rows() []float32 {
	m := len(r.Scales)
	if m == 0 {
		return nil
	}
	d := len(r.Sum)
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	r.unpack(w)
	w.along = vector.Resize(w.along, m*m)
	kernel.Products(w.along, w.directions, w.products, m, m, d)
	within, trace := mat.NewSymDense(m, nil), 0. // D C D'
	for i := range m {
		for j := i; j < m; j++ {
			within.SetSym(i, j, float64(w.along[i*m+j]+w.along[j*m+i])/2)
		}
		trace += within.At(i, i)
	}
	if !(trace > 0) || math.IsInf(trace, 1) { // a restored state may hold any numbers
		return nil
	}
	// With L L' = D C D', the rows are those of L^-1 (D C). Rounding, and more directions than rows, leave no
	// L until the diagonal is raised.
	var factor mat.Cholesky
	for raised := leastShare * trace / float64(m); ; raised *= 4 {
		if raised > trace { // not the products of a scatter
			return nil
		}
		for i := range m {
			within.SetSym(i, i, within.At(i, i)+raised)
		}
		if factor.Factorize(within) {
			break
		}
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	rows := slices.Clone(w.products)
	for i := range m {
		row := rows[i*d : i*d+d]
		for j := range i {
			kernel.Axpy(-float32(lower.At(i, j)), rows[j*d:j*d+d], row)
		}
		kernel.Scale(float32(1/lower.At(i, i)), row)
	}
	return rows
}

// leastShare is what is added at first to each value of a diagonal, as a share of their mean.
const leastShare = 1e-5

// about returns r with the directions of a metric, which are orthonormal, and those beside it, given the rows
// of r. Of what the metric's directions leave of the rows, random combinations multiplied with their scatter
// twice are nearly the directions in which they spread most.
func (r *Sketch) about(vectors, rows []float32, rank int) *Sketch {
	d := len(r.Sum)
	m, n := directions(rank, d), len(rows)/d
	if n == 0 {
		return r
	}
	spread := make([]float32, max(m-randomOnes, 0)*d)
	vectors = vectors[:min(len(vectors), len(spread))]
	copy(spread, vectors)
	if beside := spread[len(vectors):]; len(beside) > 0 {
		left := slices.Clone(rows)
		none := Metric{Centre: make([]float32, d), Vectors: vectors, Scales: make([]float32, len(vectors)/d)}
		none.Shrink(left, nil)
		some := make([]float32, len(beside))
		vector.Noise(some)
		for range 2 {
			throughScatter(some, left, d)
		}
		vector.Orthonormal(beside, some, d, 1)
	}
	next := *r
	next.Directions = make([]int8, len(spread))
	for from := 0; from < len(spread); from += d {
		row := spread[from : from+d]
		most := max(slices.Max(row), -slices.Min(row))
		if most == 0 { // the rows spread in fewer directions
			continue
		}
		for j, v := range row {
			next.Directions[from+j] = int8(math.RoundToEven(float64(v / most * math.MaxInt8)))
		}
	}
	products := make([]float32, m*d)
	next.decode(products)
	throughScatter(products, rows, d)
	next.Products, next.Scales = vector.ShortRows(products, d)
	return &next
}

// throughScatter replaces vectors of dimension d by their products with the sum of r r' over rows r.
func throughScatter(vectors, rows []float32, d int) {
	n, m := len(rows)/d, len(vectors)/d
	along := make([]float32, n*m)
	kernel.Products(along, rows, vectors, n, m, d)
	clear(vectors)
	kernel.Accumulate(vectors, along, rows, n, m, d)
}

// workspace holds a sketch at full precision, while residuals are added or a metric is made.
type workspace struct {
	scatter                     Scatter // its workspace alone
	directions, products, along []float32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// WorkspaceBytes returns the memory that learning from an episode takes, beside what a stream keeps: a sketch
// in full precision, before the first metric, and its rows.
func WorkspaceBytes(rank, d int) int { return 3 * 4 * 2 * directions(rank, d) * d }
