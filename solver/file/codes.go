package file

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// coder turns embedded rows into codes: their products with the first principal directions of a sample.
type coder struct {
	centre     []float32
	directions vector.Matrix
	step       float32
}

// codeFloor is the share of neighbours that a code must keep, where memory allows it. Neighbours that a code exchanges for others
// lie nearly as near: on digits of 784 pixels 32 directions keep 0.74 of the 10 nearest and cluster as well as all pixels, 16 keep
// 0.5 and do not.
const codeFloor = .7

const (
	sampleRows = 20000 // at most, spread over the file
	probeRows  = 500   // of the sample, whose neighbours are looked for in the sample
	probed     = 10    // neighbours of each
)

// newCoder learns directions from a sample of embedded rows, and how many of most suffice; it returns the recall of that many.
func newCoder(sample vector.Matrix, most int) (*coder, float64, error) {
	d := sample.D
	c := &coder{centre: make([]float32, d)}
	for i := range sample.N {
		kernel.Axpy(1/float32(sample.N), sample.Row(i), c.centre)
	}
	centred := vector.New(sample.N, d)
	for i := range sample.N {
		copy(centred.Row(i), sample.Row(i))
		kernel.Axpy(-1, c.centre, centred.Row(i))
	}
	scatter := make([]float32, d*d)
	kernel.AddOuter(scatter, centred.Values, centred.N, d)
	kernel.Mirror(scatter, d)
	whole := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			whole.SetSym(i, j, float64(scatter[i*d+j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(whole, true) {
		return nil, 0, fmt.Errorf("codes: no eigenvectors of a scatter of dimension %d", d)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	most = min(most, d)
	all := vector.New(most, d)
	for i := range most {
		for j := range d {
			all.Row(i)[j] = float32(vectors.At(j, d-1-i))
		}
	}
	truth := probe(centred)
	recall := 0.
	for code := min(leastCode, most); ; code = min(2*code, most) {
		c.directions = all.Slice(0, code)
		c.measure(centred)
		coded := vector.New(sample.N, code)
		x := points{n: sample.N, d: code, codes: make([]int8, sample.N*code), step: c.step}
		for i := range sample.N {
			c.project(coded.Row(i), sample.Row(i))
			x.write(i, coded.Row(i))
		}
		coded.Values = x.all()
		if recall = common(truth, probe(coded)); recall >= codeFloor || code == most {
			return c, recall, nil
		}
	}
}

// measure sets the step so that one value in ten thousand is cut.
func (c *coder) measure(centred vector.Matrix) {
	var sizes []float32
	for i := 0; i < centred.N; i += max(1, centred.N/2000) {
		for j := range c.directions.N {
			sizes = append(sizes, float32(math.Abs(float64(kernel.Dot(centred.Row(i), c.directions.Row(j))))))
		}
	}
	slices.Sort(sizes)
	c.step = max(1e-12, sizes[len(sizes)-1-len(sizes)/10000]) / 127
}

// project fills out with the products of an embedded row and the directions.
func (c *coder) project(out, row []float32) {
	kernel.Products(out, row, c.directions.Values, 1, c.directions.N, c.directions.D)
	// products with the centre are those of row - centre, less what the centre's own are
	for j := range out {
		out[j] -= kernel.Dot(c.centre, c.directions.Row(j))
	}
}

// probe lists the nearest rows of each of some rows.
func probe(rows vector.Matrix) [][]int32 {
	square := make([]float32, rows.N)
	for i := range square {
		square[i] = kernel.Dot(rows.Row(i), rows.Row(i))
	}
	every := max(1, rows.N/probeRows)
	out := make([][]int32, (rows.N+every-1)/every)
	eachOf(len(out), func(n int) {
		products := make([]float32, rows.N)
		kernel.Products(products, rows.Row(n*every), rows.Values, 1, rows.N, rows.D)
		type neighbour struct {
			id       int32
			distance float32
		}
		var nearest []neighbour // ascending
		for i, v := range products {
			v = square[i] - 2*v
			if i == n*every || len(nearest) == probed && v >= nearest[probed-1].distance {
				continue
			}
			at, _ := slices.BinarySearchFunc(nearest, v, func(a neighbour, v float32) int { return cmp.Compare(a.distance, v) })
			if nearest = slices.Insert(nearest, at, neighbour{int32(i), v}); len(nearest) > probed {
				nearest = nearest[:probed]
			}
		}
		for _, v := range nearest {
			out[n] = append(out[n], v.id)
		}
	})
	return out
}

// common is the share of the ids in a that stand in b too, list by list.
func common(a, b [][]int32) float64 {
	both, all := 0., 0.
	for i, ids := range a {
		for _, id := range ids {
			if all++; slices.Contains(b[i], id) {
				both++
			}
		}
	}
	return both / max(1, all)
}
