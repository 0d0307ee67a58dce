package file

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// columnsAtOnce is how many classes labels are spread for at a time, at most: memory is so many values a row,
// not one for each class. One row's fill a line of the cache.
const columnsAtOnce = 16

// spreadLabels is the class of each row that the graph alone would give it: the largest of the sum of two
// solutions, each scaled by its root mean square over the unlabelled rows, in the first classes. Poisson's
// holds where labels are few beside the rows, where the harmonic one is flat; that, with its means taken off,
// holds where labels are many, as a class with many rows cannot drown a small one in it.
func (l *loaded) spreadLabels(ctx context.Context, graph *index.Affinity, class []int32, told progress,
) ([]int32, error) {
	answer, best := make([]int32, l.all), make([]float32, l.all)
	var byX, byY float32
	blocks := (l.k + columnsAtOnce - 1) / columnsAtOnce
	columns := (l.k + blocks - 1) / blocks
	for from := 0; from < l.k; from += columns {
		to := min(l.k, from+columns)
		block := from / columns
		part := func(i int) progress { // of the two solutions of every block
			return func(done, total int) { told((2*block+i)*total+done, 2*blocks*total) }
		}
		x, err := laplace(ctx, graph, class, from, to, true, part(0))
		if err != nil {
			return nil, err
		}
		y, err := poisson(ctx, graph, class, from, to, part(1))
		if err != nil {
			return nil, err
		}
		if from == 0 { // one scale for all, as classes are compared with each other
			byX, byY = 1/size(x, class, to-from), 1/size(y, class, to-from)
		}
		for p := range l.all {
			for c := range to - from {
				v := byX*x[p*(to-from)+c] + byY*y[p*(to-from)+c]
				if from+c == 0 || v > best[p] {
					answer[p], best[p] = int32(from+c), v
				}
			}
		}
	}
	for p, y := range class {
		if y >= 0 {
			answer[p] = y
		}
	}
	return answer, nil
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
