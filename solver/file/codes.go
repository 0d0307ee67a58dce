package file

import (
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// coder maps embedded rows to their products with the first principal directions of a sample, as float32
// or as codes.
type coder struct {
	centre     []float32
	directions vector.Matrix
	offset     []float32 // the products of the directions and the centre
	step       float32
}

// keptInDirections is the share of its neighbours that a row keeps in principal directions. Where a class is many rows that lie side
// by side, the neighbours that a code exchanges are nearly as near, and directions of little variance are noise: on digits
// of 784 pixels 64 directions keep .82 of the 10 nearest, 32 keep .7, and both do better than all pixels; 16 keep .5 and
// do worse.
const keptInDirections = .7

const (
	sampleRows = 20000 // at most, spread over the file
	probeRows  = 500   // of the sample, whose neighbours in the sample are compared
	codeStep   = 8     // the number of directions is a multiple of it
)

// newCoder computes the principal directions of a sample of embedded rows: the fewest that keep the floor
// of a row's neighbours, at most most. It also returns the share that they keep, which is below the floor
// if most do not suffice. It centres the sample in place.
func newCoder(sample vector.Matrix, most int, floor float64) (*coder, float64, error) {
	d := sample.D
	most = min(most, d)
	centre, all, err := vector.Principal(sample, most)
	if err != nil {
		return nil, 0, fmt.Errorf("codes: %w", err)
	}
	c := &coder{centre: centre}
	truth := probe(sample)
	var values []float32
	var codes []int8
	keep := func(code int) float64 {
		c.choose(all.Slice(0, code), sample)
		values, codes = vector.Resize(values, sample.N*code), vector.Resize(codes, sample.N*code)
		x := solver.Points{N: sample.N, D: code, Codes: codes, Step: c.step}
		eachChunk(sample.N, func(_, from, to int) {
			kernel.Products(values[from*code:], sample.Values[from*d:], c.directions.Values, to-from, code, d)
			for i := from; i < to; i++ {
				x.Write(i, values[i*code:(i+1)*code])
			}
		})
		return common(truth, probe(vector.Rows(x.Rows(0, x.N, values), code)))
	}
	code := min(leastCode, most)
	recall := keep(code)
	for recall < floor && code < most {
		code = min(2*code, most)
		recall = keep(code)
	}
	// search between code/2, which does not suffice, and code
	for least := code / 2; recall >= floor && code > leastCode && code-least > codeStep; {
		middle := (least + code) / 2 / codeStep * codeStep
		if kept := keep(middle); kept >= floor {
			code, recall = middle, kept
		} else {
			least = middle
		}
	}
	c.choose(all.Slice(0, code), sample)
	return c, recall, nil
}

// choose sets the directions, and the step so that one value in ten thousand is clipped.
func (c *coder) choose(directions, centred vector.Matrix) {
	c.directions, c.offset = directions, make([]float32, directions.N)
	for j := range c.offset {
		c.offset[j] = kernel.Dot(c.centre, directions.Row(j))
	}
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
	kernel.Axpy(-1, c.offset, out)
}

// probe lists the nearest rows of each of about probeRows rows. A tile of products is some of these by some of all rows.
func probe(rows vector.Matrix) [][]int32 {
	const high, wide = 24, 240
	square := make([]float32, rows.N)
	for i := range square {
		square[i] = kernel.Dot(rows.Row(i), rows.Row(i))
	}
	every := max(1, rows.N/probeRows)
	out := make([][]int32, (rows.N+every-1)/every)
	eachOf((len(out)+high-1)/high, func(block int) {
		first := block * high
		count := min(high, len(out)-first)
		own := vector.New(count, rows.D)
		for r := range count {
			copy(own.Row(r), rows.Row((first+r)*every))
		}
		found, limits := make([]nearest, count), slices.Repeat([]float32{math.MaxFloat32}, count)
		products, near := make([]float32, high*wide), make([]int32, wide)
		for from := 0; from < rows.N; from += wide {
			n := min(wide, rows.N-from)
			kernel.Products(products, own.Values, rows.Values[from*rows.D:], count, n, rows.D)
			for r := range count {
				of := products[r*n : r*n+n]
				for _, c := range near[:kernel.Below(near, square[from:from+n], of, limits[r])] {
					if i := from + int(c); i != (first+r)*every {
						found[r].offer(candidate{int32(i), float64(square[i] - 2*of[c])}, listed)
					}
				}
				if len(found[r]) == listed {
					limits[r] = float32(found[r][listed-1].distance)
				}
			}
		}
		for r, near := range found {
			for _, v := range near {
				out[first+r] = append(out[first+r], v.id)
			}
		}
	})
	return out
}

// common returns the share of the ids in a that are in b too, list by list.
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
