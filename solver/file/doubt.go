package file

import (
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// graphSweeps is the number of times that distances are smoothed over the graph: what no label names seldom comes alone.
const graphSweeps = 3

// unknownScores returns the distance of each row to the nearest labelled one, smoothed over the graph, and less by up to
// two thirds as far as labels reach the row: what no label names has no path to one, however near it lies. 0 for
// labelled rows.
func (l *loaded) unknownScores(graph *index.Affinity, reach []float32) []float32 {
	labelled, _ := l.labelled()
	_, scores := l.nearest(labelled)
	for range graphSweeps {
		scores = l.smoothed(graph, scores)
	}
	for p, share := range reach {
		scores[p] *= 1 - share*2/3
	}
	return scores
}

// smoothed returns scores smoothed over the unlabelled neighbours: (W h + h) / (degree + 1); 0 for labelled rows.
func (l *loaded) smoothed(graph *index.Affinity, scores []float32) []float32 {
	out := make([]float32, l.all)
	eachChunk(l.all, func(_, from, to int) {
		for p := from; p < to; p++ {
			if l.class[p] >= 0 {
				continue
			}
			h, unlabelled := scores[p], float32(1)
			columns, weights := graph.Row(p)
			for j, q := range columns {
				if l.class[q] < 0 {
					h += weights[j] * scores[q]
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

// nearest returns for each row which of the examples, at least one, is the nearest, and its distance.
func (l *loaded) nearest(examples vector.Matrix) (which []int32, distance []float32) {
	d := l.points.D
	which, distance = make([]int32, l.all), make([]float32, l.all)
	squares := make([]float32, examples.N)
	for i := range squares {
		squares[i] = kernel.Dot(examples.Row(i), examples.Row(i))
	}
	eachOf((l.all+stretch-1)/stretch, func(i int) {
		from, to := i*stretch, min(l.all, (i+1)*stretch)
		rows := l.points.Rows(from, to, l.points.Scratch(stretch))
		products := make([]float32, (to-from)*examples.N)
		kernel.Products(products, rows, examples.Values, to-from, examples.N, d)
		for p := from; p < to; p++ {
			row, near := rows[(p-from)*d:(p-from+1)*d], float32(math.Inf(1))
			for j, v := range products[(p-from)*examples.N : (p-from+1)*examples.N] {
				if v = squares[j] - 2*v; v < near {
					near, which[p] = v, int32(j)
				}
			}
			distance[p] = float32(math.Sqrt(float64(max(0, near+kernel.Dot(row, row)))))
		}
	})
	return which, distance
}
