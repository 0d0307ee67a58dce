package file

import (
	"context"
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// columnsAtOnce returns for how many of k classes labels are spread at a time: those of a row fill whole lines of the
// cache, about half of the classes, as each pass reads the graph again.
func columnsAtOnce(k int) int { return min(k, max(16, min(64, k/2&^15))) }

// answer is the class that a way of solving gives each row, and how sure it is of it, 0 to 1.
type answer struct {
	class []int32
	sure  []float32
	alone bool // of labels that spread, without prototypes
	named bool // with what class vectors say
}

// spread is the answer of labels that spread over the graph. value is how much arrives of the class.
type spread struct {
	answer
	value []float32
}

func newSpread(n int) spread {
	return spread{answer{class: make([]int32, n), sure: make([]float32, n)}, make([]float32, n)}
}

// conclude gives back to the classes their numbers, order, and to the labelled rows their classes.
func (s *spread) conclude(order, given []int32) {
	for p, y := range given {
		if s.class[p] = order[s.class[p]]; y >= 0 {
			s.class[p], s.sure[p] = y, 1
		}
	}
}

// offer gives a row a class if more of it arrives than of the classes before it, class 0 first.
func (s *spread) offer(row, class int32, value, sure float32) {
	if class == 0 || value > s.value[row] {
		s.class[row], s.value[row], s.sure[row] = class, value, sure
	}
}

// eachBlock calls do for the classes [from, to) whose labels are spread at a time, by so many solutions.
func (l *loaded) eachBlock(solutions int, told progress, do func(from, to int, part func(solution int) progress) error) error {
	columns := columnsAtOnce(l.k)
	for from := 0; from < l.k; from += columns {
		to := min(l.k, from+columns)
		part := func(i int) progress {
			return func(done, total int) {
				told((solutions*from+i*(to-from))*total+done*(to-from), solutions*l.k*total)
			}
		}
		if err := do(from, to, part); err != nil {
			return err
		}
	}
	return nil
}

// spreadLabels returns the classes that the graph gives each row: by the sum of the harmonic solution less its means and
// the Poisson solution, each scaled by its root mean square over the unlabelled rows in the first classes. The
// Poisson solution works if labels are few, where the harmonic one is flat. The harmonic one, less its means, works if
// labels are many, because a class with many rows cannot drown a small one in it. It has the evidence of the prototypes as
// a weak source at every row, which decides where no label arrives; alone, nil: not known, says how good it is. How sure
// the classes are is the harmonic solution at them. reach is the share of labels in what arrives at a row.
func (l *loaded) spreadLabels(
	ctx context.Context, similar similarity, alone *spread, settings solver.Settings, told progress,
) (sum spread, reach []float32, err error) {
	order, ranked := byFirstRow(l.class, l.k)
	evidence := l.newEvidence(ranked, order, similar, alone, settings)
	class, degree := evidence.class, degrees(similar.graph)
	even, drawn := newHarmonic(similar, class, evidence.weight), newSystem(similar, evidence.weight, nil)
	drawn.memory = even.memory
	labels, err := even.reach(ctx, class)
	if err != nil {
		return sum, nil, err
	}
	reach = make([]float32, l.all)
	for i, share := range labels {
		reach[similar.order[i]] = min(max(share, 0), 1)
	}
	sum = newSpread(l.all)
	var byX, byY float32
	err = l.eachBlock(2, told, func(from, to int, part func(int) progress) error {
		k := to - from
		x, err := even.classes(ctx, class, from, to, evidence.of(from, to), part(0))
		if err != nil {
			return err
		}
		mean := means(x, degree, k)
		y, err := drawn.poisson(ctx, class, from, to, part(1))
		if err != nil {
			return err
		}
		if from == 0 { // one scale for all, as classes are compared with each other
			byX, byY = 1/size(x, mean, class), 1/size(y, make([]float32, k), class)
		}
		eachChunk(l.all, func(_, first, last int) {
			for i := first; i < last; i++ {
				for c := range k {
					v := x[i*k+c]
					sum.offer(similar.order[i], int32(from+c), byX*(v-mean[c])+byY*y[i*k+c], min(max(v, 0), 1))
				}
			}
		})
		return nil
	})
	sum.conclude(order, l.class)
	return sum, reach, err
}

// leastWeight is the weight of no evidence: as little of it keeps values finite where labels of some classes only arrive.
const leastWeight = 1e-3

// labelsAlone returns the classes of the harmonic solution without evidence: as it is, which is right if one class is most
// of the file, and less its means. How sure they are is their share of what arrives.
func (l *loaded) labelsAlone(ctx context.Context, similar similarity, told progress) (alone, less spread, err error) {
	order, ranked := byFirstRow(l.class, l.k)
	class, degree, total := similar.in(ranked), degrees(similar.graph), make([]float32, l.all)
	even := newHarmonic(similar, class, leastWeight)
	alone, less = newSpread(l.all), newSpread(l.all)
	alone.alone, less.alone = true, true
	err = l.eachBlock(1, told, func(from, to int, part func(int) progress) error {
		k := to - from
		x, err := even.classes(ctx, class, from, to, nil, part(0))
		if err != nil {
			return err
		}
		mean := means(x, degree, k)
		eachChunk(l.all, func(_, first, last int) {
			for i := first; i < last; i++ {
				p := similar.order[i]
				for c, v := range x[i*k : i*k+k] {
					at := int32(from + c)
					alone.offer(p, at, v, max(v, 0))
					less.offer(p, at, v-mean[c], max(v, 0))
					total[p] += max(v, 0)
				}
			}
		})
		return nil
	})
	for p, all := range total {
		all = max(all, math.SmallestNonzeroFloat32)
		alone.sure[p] /= all
		less.sure[p] /= all
	}
	alone.conclude(order, l.class)
	less.conclude(order, l.class)
	return alone, less, err
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

// size returns the root mean square of x less the means, a value of each of these a row, over rows without a class.
func size(x, mean []float32, class []int32) float32 {
	k := len(mean)
	sum, count := 0., 0
	for p, y := range class {
		if y < 0 {
			for c, v := range x[p*k : p*k+k] {
				sum += float64(v-mean[c]) * float64(v-mean[c])
			}
			count += k
		}
	}
	return float32(math.Sqrt(max(sum, 1e-60) / float64(max(1, count))))
}
