package index

import (
	"errors"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

var infinity = float32(math.Inf(1))

// points are the rows as the tiles use them, with a bound on the rounding of |x|^2 + |y|^2 - 2xy: the true
// value of a pair is within relative (|x|^2 + |y|^2) + absolute of the computed one. Where that does not decide
// between two candidates, the original rows do.
type points struct {
	n, d     int
	original []float32 // rows that define the distances: as given, or of length 1 under cosine
	rows     []float32 // original, or centred and scaled where float32 would otherwise lose the distances
	scale    float64   // rows are the originals, centred where needed, times this
	cosine   bool

	norms       []float32 // |x|^2 of rows
	low, high   []float32 // norms minus and plus their share of the bound
	relative    float32   // bound of the error: relative to the norms, and beside that
	absolute    float32
	unit, moved []float32 // memory of original and rows where they are copies
	mean        []float32
}

// epsilon is the largest relative error of one float32 rounding.
const epsilon = 1. / (1 << 24)

// take checks the rows and prepares them.
func (p *points) take(rows []float32, n, d int, cosine bool) error {
	p.n, p.d, p.original, p.rows, p.scale, p.cosine = n, d, rows, rows, 1, cosine
	p.norms, p.low, p.high = vector.Resize(p.norms, n), vector.Resize(p.low, n), vector.Resize(p.high, n)
	tile, dot := kernel.Roundings(d)
	p.relative = float32((tile + dot + 16) * epsilon) // 16: for centring, and for adding the three terms
	p.absolute = float32(math.Ldexp(float64(d)+16, -146))
	if cosine {
		if err := p.toUnitLength(); err != nil {
			return err
		}
	}
	largest, total, err := p.measure()
	if err != nil {
		return err
	}
	if !cosine && (largest > 1e30 || largest > 0 && largest < 1e-20) {
		if err := p.rescale(); err != nil {
			return err
		}
		if _, total, err = p.measure(); err != nil {
			return err
		}
	}
	if p.offCentre(total) {
		p.centre()
		if _, _, err = p.measure(); err != nil {
			return err
		}
	}
	for i, norm := range p.norms {
		p.low[i], p.high[i] = norm-p.relative*norm-p.absolute, norm+p.relative*norm+p.absolute
	}
	return nil
}

// prefetched is the number of rows to prefetch at a time: enough to load in parallel, few enough that the first are
// still in the cache when the last arrives.
const prefetched = 16

// ahead must be called before ids[at] is read, for every position in turn: it prefetches those that follow.
func (p *points) ahead(ids []int32, at int) {
	if at%prefetched != 0 {
		return
	}
	from := at + prefetched
	if at == 0 {
		from = 0
	}
	if from < len(ids) {
		kernel.Prefetch(p.rows, p.d, ids[from:min(at+2*prefetched, len(ids))])
	}
}

func (p *points) row(i int) []float32       { return p.rows[i*p.d : i*p.d+p.d] }
func (p *points) trueRow(i int) []float32   { return p.original[i*p.d : i*p.d+p.d] }
func (p *points) rounding(i, j int) float32 { return p.relative*(p.norms[i]+p.norms[j]) + p.absolute }

func (p *points) report(d2 float64) float32 {
	if p.cosine {
		return float32(d2 / 2)
	}
	return float32(math.Sqrt(d2))
}

// measure fills in the norms and returns the largest and their sum, or an error for a row that is not finite.
func (p *points) measure() (largest float32, total float64, err error) {
	for i := range p.n {
		row := p.row(i)
		norm := kernel.Dot(row, row)
		if !(norm <= math.MaxFloat32) {
			if err := finite(row); err != nil {
				return 0, 0, fmt.Errorf("row %d: %w", i, err)
			}
			norm = math.MaxFloat32
		}
		p.norms[i] = norm
		largest = max(largest, norm)
		total += float64(norm)
	}
	return largest, total, nil
}

// finite returns an error for the first value of a row that is NaN or infinite.
func finite(row []float32) error {
	for j, v := range row {
		if v != v || v > math.MaxFloat32 || v < -math.MaxFloat32 {
			return fmt.Errorf("value %g at %d", v, j)
		}
	}
	return nil
}

// measurable returns an error unless a row is finite and its distance to any other such row fits a float32.
func measurable(row []float32) error {
	if kernel.Dot(row, row) < 1e30 {
		return nil
	}
	if err := finite(row); err != nil {
		return err
	}
	var square float64
	for _, v := range row {
		square += float64(v) * float64(v)
	}
	if 2*math.Sqrt(square) > math.MaxFloat32 {
		return fmt.Errorf("length %g is too large for distances in float32", math.Sqrt(square))
	}
	return nil
}

// toUnitLength makes original a copy of rows of length 1.
func (p *points) toUnitLength() error {
	p.unit = vector.Resize(p.unit, p.n*p.d)
	for i := range p.n {
		if err := unit(p.unit[i*p.d:i*p.d+p.d], p.row(i)); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	p.original, p.rows = p.unit, p.unit
	return nil
}

// unit writes row at length 1 to out.
func unit(out, row []float32) error {
	length := float64(kernel.Dot(row, row))
	if !(length > 1e-20 && length < 1e30) {
		if err := finite(row); err != nil {
			return err
		}
		length = 0
		for _, v := range row {
			length += float64(v) * float64(v)
		}
		if length == 0 {
			return errors.New("a zero row has no cosine")
		}
	}
	length = math.Sqrt(length)
	for j, v := range row {
		out[j] = float32(float64(v) / length)
	}
	return nil
}

// rescale makes rows a copy whose largest value is between 1 and 2, so that squares neither
// overflow nor vanish.
func (p *points) rescale() error {
	var top float32
	for i := range p.n {
		if err := measurable(p.row(i)); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		for _, v := range p.row(i) {
			top = max(top, v, -v)
		}
	}
	_, exponent := math.Frexp(float64(top))
	p.scale = math.Ldexp(1, 1-exponent)
	p.moved = vector.Resize(p.moved, p.n*p.d)
	for i, v := range p.rows {
		p.moved[i] = float32(float64(v) * p.scale)
	}
	p.rows = p.moved
	return nil
}

// offCentre computes the mean of a few rows and reports whether it has most of the rows' squared length,
// given the sum of their norms. The mean of a few is as good a centre as that of all.
func (p *points) offCentre(total float64) bool {
	const few = 16
	count := min(few, p.n)
	p.mean = vector.Resize(p.mean, p.d)
	clear(p.mean)
	for i := range count {
		kernel.Axpy(1/float32(count), p.row(i*p.n/count), p.mean)
	}
	return float64(kernel.Dot(p.mean, p.mean))*float64(p.n) > .9*total
}

// centre makes rows a copy with the mean subtracted.
func (p *points) centre() {
	p.moved = vector.Resize(p.moved, p.n*p.d)
	for i := range p.n {
		row := p.moved[i*p.d : i*p.d+p.d]
		copy(row, p.row(i))
		kernel.Axpy(-1, p.mean, row)
	}
	p.rows = p.moved
}

// squared returns |x-y|^2 of two rows with a relative error of a few roundings, whatever their scale.
func (p *points) squared(i, j int32) float64 { return squared(p.trueRow(int(i)), p.trueRow(int(j))) }

// squaredExactly returns |x-y|^2 of two rows in float64, which decides every doubtful order.
func (p *points) squaredExactly(i, j int32) float64 {
	return squaredExactly(p.trueRow(int(i)), p.trueRow(int(j)))
}

func squaredExactly(x, y []float32) float64 {
	y = y[:len(x)]
	var s0, s1 float64
	k := 0
	for ; k+2 <= len(x); k += 2 {
		a, b := float64(x[k])-float64(y[k]), float64(x[k+1])-float64(y[k+1])
		s0 += float64(a * a)
		s1 += float64(b * b)
	}
	if k < len(x) {
		a := float64(x[k]) - float64(y[k])
		s0 += float64(a * a)
	}
	return s0 + s1
}

// squared returns |x-y|^2 with a relative error of a few roundings, whatever the scale.
func squared(x, y []float32) float64 {
	s := kernel.SquaredDistance(x, y)
	if s > 1e-25 && s < 1e37 {
		return float64(s)
	}
	return squaredExactly(x, y)
}
