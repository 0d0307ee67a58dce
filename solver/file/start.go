package file

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
)

// columnsAtOnce is how many classes labels are spread for at a time, at most: memory is so many values a row,
// not one for each class. One row's fill a line of the cache.
const columnsAtOnce = 16

// spreadLabels is the class of each row that the graph gives it: the largest of the sum of two solutions,
// each scaled by its root mean square over the unlabelled rows, in the first classes. Poisson's holds where
// labels are few beside the rows, where the harmonic one is flat; that, with its means taken off, holds where
// labels are many, as a class with many rows cannot drown a small one in it. The harmonic one has the evidence
// of the prototypes as a weak source at every row: it decides where no label arrives. Reach is the part that
// labels have in what arrives at a row.
func (l *loaded) spreadLabels(ctx context.Context, similar similarity, given []int32, constants Constants,
	told progress,
) (answer []int32, reach []float32, err error) {
	graph, class := similar.graph, similar.in(given)
	said := l.newEvidence(class, similar.order, constants)
	degree := degrees(graph)
	total, err := mass(ctx, graph, class, said.weight)
	if err != nil {
		return nil, nil, err
	}
	reach = make([]float32, l.all)
	alone := said.weight / (said.weight + decay) // what arrives where no label does
	for i, m := range total {
		labels := max(0, (m-alone)/(1-alone))
		reach[similar.order[i]] = labels / (labels + alone)
	}
	answer = make([]int32, l.all)
	best := make([]float32, l.all)
	var byX, byY float32
	blocks := (l.k + columnsAtOnce - 1) / columnsAtOnce
	for block := range blocks {
		from := block * columnsAtOnce
		to := min(l.k, from+columnsAtOnce)
		k := to - from
		part := func(i int) progress { // of the two solutions of every block
			return func(done, total int) { told((2*block+i)*total+done, 2*blocks*total) }
		}
		x, err := laplace(ctx, graph, class, from, to, said.of(from, to), said.weight, part(0))
		if err != nil {
			return nil, nil, err
		}
		lessMean(x, total, degree, k)
		y, err := poisson(ctx, graph, class, from, to, part(1))
		if err != nil {
			return nil, nil, err
		}
		if block == 0 { // one scale for all, as classes are compared with each other
			byX, byY = 1/size(x, class, k), 1/size(y, class, k)
		}
		for i, p := range similar.order {
			for c := range k {
				if v := byX*x[i*k+c] + byY*y[i*k+c]; from+c == 0 || v > best[p] {
					answer[p], best[p] = int32(from+c), v
				}
			}
		}
	}
	for p, y := range given {
		if y >= 0 {
			answer[p] = y
		}
	}
	return answer, reach, nil
}

// size is the root mean square of x, k values a row, over rows without a class.
func size(x []float32, class []int32, k int) float32 {
	sum, count := 0., 0
	for p, y := range class {
		if y < 0 {
			sum += float64(kernel.Dot(x[p*k:p*k+k], x[p*k:p*k+k]))
			count += k
		}
	}
	return float32(math.Sqrt(max(sum, 1e-60) / float64(max(1, count))))
}
