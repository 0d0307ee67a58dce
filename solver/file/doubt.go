package file

import (
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// unknownScores returns distances smoothed over the unlabelled neighbours: (W h + h) / (degree + 1); 0
// for labelled rows.
func (l *loaded) unknownScores(graph *index.Affinity) []float32 {
	far, out := l.distances(), make([]float32, l.all)
	eachChunk(l.all, func(_, from, to int) {
		for p := from; p < to; p++ {
			if l.class[p] >= 0 {
				continue
			}
			h, unlabelled := far[p], float32(1)
			columns, weights := graph.Row(p)
			for j, q := range columns {
				if l.class[q] < 0 {
					h += weights[j] * far[q]
					unlabelled += weights[j]
				}
			}
			out[p] = h / unlabelled
		}
	})
	return out
}

// labelled returns the labelled rows and their classes.
func (l *loaded) labelled() (rows vector.Matrix, class []int32) {
	rows.D = l.points.D
	scratch := l.points.Scratch(1)
	for p, y := range l.class {
		if y >= 0 {
			rows = vector.Rows(append(rows.Values, l.points.Rows(p, p+1, scratch)...), rows.D)
			class = append(class, y)
		}
	}
	return rows, class
}

// distances returns the distance of each row to the nearest labelled row; zeros if no row is labelled.
func (l *loaded) distances() []float32 {
	d := l.points.D
	labelled, _ := l.labelled()
	out := make([]float32, l.all)
	if labelled.N == 0 {
		return out
	}
	squares := make([]float32, labelled.N)
	for i := range squares {
		squares[i] = kernel.Dot(labelled.Row(i), labelled.Row(i))
	}
	eachOf((l.all+stretch-1)/stretch, func(i int) {
		from, to := i*stretch, min(l.all, (i+1)*stretch)
		rows := l.points.Rows(from, to, l.points.Scratch(stretch))
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
