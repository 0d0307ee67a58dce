package view

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// Rows are rows as a view compares them, in a byte a number: what they have beside the metric's centre, and along each of its
// directions, times its metric.AlongScale. A stream's rows are read from memory, as other streams' are between: bytes
// are a fourth of numbers. As rounded they have length 1, so that a row's product with itself is 1.
type Rows struct {
	codes    []int8
	along    []float32
	scales   []scale
	products []int32 // workspace of Put
}

// scale is what the codes of a row stand for.
type scale struct {
	step   float32 // a code's worth in the row
	plain  float32 // a code's worth before the metric
	square float32 // the squared length before it
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.scales) }

// Bytes is the memory that they take.
func (r *Rows) Bytes() int { return cap(r.codes) + 4*cap(r.along) + 12*cap(r.scales) }

// Bytes is the memory of a view's rows and sums.
func (k *View) Bytes() int { return k.Labelled.Bytes() + 2*(k.Sums.Rows.Bytes()+4*len(k.Sums.values)) }

// Delete drops the first rows.
func (r *Rows) Delete(count int) {
	if n := r.Len(); n > 0 {
		r.codes = r.codes[:copy(r.codes, r.codes[count*(len(r.codes)/n):])]
		r.along = r.along[:copy(r.along, r.along[count*(len(r.along)/n):])]
		r.scales = r.scales[:copy(r.scales, r.scales[count:])]
	}
}

// clone returns a copy.
func (r *Rows) clone() Rows {
	return Rows{codes: slices.Clone(r.codes), along: slices.Clone(r.along), scales: slices.Clone(r.scales)}
}

// Tile are rows whose products with others are wanted.
type Tile struct {
	codes    []int16
	along    []float32 // negative along directions that shrink
	scales   []scale
	products []int32 // workspace of Products
}

// Resize makes n rows of r: those that are there, and others that Put fills in.
func (k *View) Resize(r *Rows, n int) {
	r.codes = grown(r.codes, n*k.Dimension)
	r.along = grown(r.along, n*k.directions())
	r.scales = grown(r.scales, n)
}

func grown[T any](list []T, n int) []T {
	if n <= len(list) {
		return list[:n]
	}
	return append(list, make([]T, n-len(list))...)
}

// directions are those of the metric.
func (k *View) directions() int { return len(k.along) }

// Raise fills out with a raw row as it is compared without the metric, at length 1 about the mean.
func (k *View) Raise(out, x []float32) {
	k.raise(out, x)
	k.centre(out)
}

// centre takes a raised row to length 1 about the mean.
func (k *View) centre(row []float32) {
	if k.Mean != nil {
		kernel.Axpy(-1, k.Mean, row)
	}
	vector.Unit(row, row)
}

// Put sets a row to one that Raise filled in, which it changes.
func (k *View) Put(r *Rows, at int, z []float32) { k.put(r, at, z, nil) }

func (k *View) put(r *Rows, at int, z []float32, wide []int16) {
	codes, along := r.codes[at*len(z):][:len(z)], r.along[at*len(k.along):][:len(k.along)]
	if k.about != nil {
		kernel.Axpy(-1, k.about, z)
	}
	step, squares := round(codes, z)
	if step == 0 { // at the mean, or at the centre of the metric
		clear(along)
		clear(wide)
		r.scales[at] = scale{}
		return
	}
	square := float32(squares) * step * step
	if wide != nil {
		kernel.Narrow(wide, z, 1/step) // rounds alike
	}
	length := square
	if k.about != nil {
		r.products = vector.Resize(r.products, len(k.along))
		kernel.CodeProducts(r.products, k.Learned.Units, codes)
		for j, by := range k.along {
			along[j] = by * step * float32(r.products[j])
		}
		length = metric.LengthAlong(square, along, k.Learned.Scales)
	}
	by := float32(0)
	if length > metric.LeastLength {
		by = float32(1 / math.Sqrt(float64(length)))
	}
	kernel.Scale(by, along)
	r.scales[at] = scale{step * by, step, square}
}

// round fills codes with a row, and returns what one of them stands for and the sum of their squares: 0, of a row of zeros.
func round(codes []int8, row []float32) (step float32, squares int32) {
	if step = kernel.Largest(row) / math.MaxInt8; !(step > 1e-15) {
		clear(codes)
		return 0, 0
	}
	return step, kernel.Bytes(codes, row, 1/step)
}

// PutTile is Put for the last rows of r, of which z holds those that Raise filled in, and makes a tile of them.
func (k *View) PutTile(t *Tile, r *Rows, z []float32) {
	d, n := k.Dimension, len(z)/k.Dimension
	from := r.Len() - n
	t.codes = vector.Resize(t.codes, n*d)
	for i := range n {
		k.put(r, from+i, z[i*d:][:d], t.codes[i*d:][:d])
	}
	t.along = append(t.along[:0], r.along[from*len(k.along):]...)
	t.scales = r.scales[from:]
	if k.about != nil {
		less := metric.Shrinking(k.Learned.Scales)
		for i := range n {
			kernel.Scale(-1, t.along[i*len(k.along):][:less])
		}
	}
}

// Products fills out with the inner products of the rows of a tile and those of r from the given one on.
func (k *View) Products(out []float32, t *Tile, r *Rows, from int) {
	d, m, n := k.Dimension, len(t.scales), r.Len()-from
	kernel.Products(out, t.along, r.along[from*len(k.along):], m, n, len(k.along))
	t.products = vector.Resize(t.products, m)
	for j := range n {
		step := r.scales[from+j].step
		kernel.CodeProducts(t.products, t.codes, r.codes[(from+j)*d:][:d])
		for i, product := range t.products {
			out[i*n+j] += t.scales[i].step * step * float32(product)
		}
	}
}

// Plainly is the distance of a row of a tile and one of r without the metric.
func (k *View) Plainly(t *Tile, i int, r *Rows, j int) float64 {
	d, a, b := k.Dimension, t.scales[i], r.scales[j]
	product := a.plain * b.plain * float32(kernel.CodeProduct(t.codes[i*d:][:d], r.codes[j*d:][:d]))
	return math.Sqrt(float64(max(0, a.square+b.square-2*product)))
}
