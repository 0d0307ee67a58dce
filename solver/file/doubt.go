package file

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// doubts are what an answer says of itself.
type doubts struct {
	confidence []float32 // of each row's label, 1 where it is labelled
	second     []int32   // the class with the largest A after the label's
	unknown    []float32 // distance to the nearest labelled row, smoothed over the graph
}

// doubt replaces S: A = softmax(-a) of each row, and S itself as far as a class is many rows side
// by side, where means say little, and labels reached the row over them: A <- (1-x) A + x S, x = manifold
// times reach, 0 where reach is nil, as clusters are what their means are. The confidence of a label is
// its part in (W A + A), and the unknown score (W h + h)/(degree + 1), h the distance to the nearest labelled
// row.
func (e *descent) doubt(labels []int32, reach []float32) doubts {
	k, d := e.k, e.points.d
	out := doubts{make([]float32, e.all), make([]int32, e.all), make([]float32, e.all)}
	most := float32(e.manifold)
	eachOf((e.n+stretch-1)/stretch, func(i int) {
		from, to := i*stretch, min(e.n, (i+1)*stretch)
		rows := e.points.rows(from, to, e.points.scratch(stretch))
		scores, products := make([]float32, (to-from)*k), make([]float32, (to-from)*k)
		add := func(at *prototypes, part float64) {
			kernel.Products(products, rows, at.rows.Values, to-from, k, d)
			for j, v := range products {
				scores[j] += float32(part * e.Tau * (2*float64(v) - at.psi[j%k]))
			}
		}
		add(&e.file, 1-e.c)
		if e.c > 0 {
			own := newPrototypes(k, d)
			e.averageStretch(&own, from, to)
			add(&own, e.c)
		}
		kernel.SoftmaxRows(scores, to-from, k)
		for p := from; p < to; p++ {
			if e.class[p] < 0 {
				own, x := e.s[p*k:p*k+k], float32(0)
				if reach != nil {
					x = most * reach[p]
				}
				kernel.Scale(x, own)
				kernel.Axpy(1-x, scores[(p-from)*k:(p-from+1)*k], own)
			}
		}
	})
	far := e.distances()
	eachChunk(e.all, func(_, from, to int) {
		for p := from; p < to; p++ {
			out.second[p] = second(e.s[p*k:p*k+k], labels[p])
			if e.class[p] >= 0 {
				out.confidence[p] = 1
				continue
			}
			sum, h, degree, unlabelled := e.s[p*k+int(labels[p])], far[p], float32(1), float32(1)
			columns, weights := e.graph.Row(p)
			for j, q := range columns {
				sum += weights[j] * e.s[int(q)*k+int(labels[p])]
				degree += weights[j]
				if e.class[q] < 0 {
					h += weights[j] * far[q]
					unlabelled += weights[j]
				}
			}
			out.confidence[p], out.unknown[p] = sum/degree, h/unlabelled
		}
	})
	return out
}

// second is the class with the largest value beside one, which is returned where there is no other.
func second(values []float32, beside int32) int32 {
	best := beside
	for c, v := range values {
		if int32(c) != beside && (best == beside || v > values[best]) {
			best = int32(c)
		}
	}
	return best
}

// distances are those of each row to the nearest labelled row; none where no row is labelled.
func (e *descent) distances() []float32 {
	d := e.points.d
	labelled := vector.Matrix{D: d}
	for p, y := range e.class {
		if y >= 0 {
			labelled = vector.Rows(append(labelled.Values, e.points.rows(p, p+1, e.points.scratch(1))...), d)
		}
	}
	out := make([]float32, e.all)
	if labelled.N == 0 {
		return out
	}
	squares := make([]float32, labelled.N)
	for i := range squares {
		squares[i] = kernel.Dot(labelled.Row(i), labelled.Row(i))
	}
	eachOf((e.all+stretch-1)/stretch, func(i int) {
		from, to := i*stretch, min(e.all, (i+1)*stretch)
		rows := e.points.rows(from, to, e.points.scratch(stretch))
		products := make([]float32, (to-from)*labelled.N)
		kernel.Products(products, rows, labelled.Values, to-from, labelled.N, d)
		for p := from; p < to; p++ {
			row, near := rows[(p-from)*d:(p-from+1)*d], float32(math.Inf(1))
			for j, v := range products[(p-from)*labelled.N : (p-from+1)*labelled.N] {
				near = min(near, squares[j]-2*v)
			}
			out[p] = float32(math.Sqrt(float64(max(0, near+kernel.Dot(row, row)))))
		}
	})
	return out
}
