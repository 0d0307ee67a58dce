package file

import (
	"context"
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/kernel"
)

// columnsAtOnce returns for how many of k classes labels are spread at a time: those of a row fill whole
// lines of the cache, one or as many as take no more memory than the answers for k classes.
func columnsAtOnce(k int) int { return min(k, max(16, min(64, k/5&^15))) }

// spreadLabels returns the class that the graph gives each row: the largest value of the sum of two
// solutions, each scaled by its root mean square over the unlabelled rows in the first classes. The Poisson
// solution works if labels are few, where the harmonic one is flat. The harmonic one, less its means, works
// if labels are many, because a class with many rows cannot drown a small one in it. The harmonic one has the
// evidence of the prototypes as a weak source at every row, which decides where no label arrives. reach is
// the share of labels in what arrives at a row.
func (l *loaded) spreadLabels(
	ctx context.Context, similar similarity, given []int32, settings solver.Settings, told progress,
) (answer []int32, reach []float32, err error) {
	order, ranked := byFirstRow(given, l.k)
	said := l.newEvidence(ranked, similar, settings)
	class, degree := said.class, degrees(similar.graph)
	even, drawn := newHarmonic(similar, class, said.weight), newSystem(similar, said.weight, nil)
	labels, err := even.reach(ctx, class)
	if err != nil {
		return nil, nil, err
	}
	reach = make([]float32, l.all)
	for i, share := range labels {
		reach[similar.order[i]] = min(max(share, 0), 1)
	}
	answer = make([]int32, l.all)
	best := make([]float32, l.all)
	var byX, byY float32
	columns := columnsAtOnce(l.k)
	blocks := (l.k + columns - 1) / columns
	for block := range blocks {
		from := block * columns
		to := min(l.k, from+columns)
		k := to - from
		part := func(i int) progress { // of the two solutions of every block
			return func(done, total int) { told((2*block+i)*total+done, 2*blocks*total) }
		}
		x, err := even.classes(ctx, class, from, to, said.of(from, to), part(0))
		if err != nil {
			return nil, nil, err
		}
		lessMean(x, degree, k)
		y, err := drawn.poisson(ctx, class, from, to, part(1))
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
		if answer[p] = order[answer[p]]; y >= 0 {
			answer[p] = y
		}
	}
	return answer, reach, nil
}

// byFirstRow lists k classes in the order of their first rows, those without any last, and returns the
// position of each row's class.
func byFirstRow(class []int32, k int) (order, ranked []int32) {
	position := make([]int32, k)
	for c := range position {
		position[c] = -1
	}
	rank := func(c int32) int32 {
		if position[c] < 0 {
			position[c] = int32(len(order))
			order = append(order, c)
		}
		return position[c]
	}
	ranked = slices.Clone(class)
	for p, c := range class {
		if c >= 0 {
			ranked[p] = rank(c)
		}
	}
	for c := range int32(k) {
		rank(c)
	}
	return order, ranked
}

// size returns the root mean square of x, k values a row, over rows without a class.
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
