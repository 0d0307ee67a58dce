package stream

import (
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// classSums are the sums of the labelled rows and the learned prototype of each class, all weighted, with
// what follows from them for the cost of a row.
type classSums struct {
	settings *solver.Settings
	d        int
	values   []float32 // classes x d: the sums
	masses   []float64
	squares  []float64 // of the lengths of sums
	costs    []classCost
}

// classCost gives -a of a row without the part that all classes share: by times the product of the row and
// the class's sum, minus less.
type classCost struct{ by, less float32 }

func newClassSums(s *solver.Settings, classes, d int) classSums {
	return classSums{
		settings: s, d: d, values: make([]float32, classes*d), masses: make([]float64, classes),
		squares: make([]float64, classes), costs: make([]classCost, classes),
	}
}

func (s *classSums) sum(c int) []float32 { return s.values[c*s.d : c*s.d+s.d] }

// add adds a row to a class. by is the factor of the row in the sum, weight its mass. The class's cost follows
// with weigh.
func (s *classSums) add(c int, row []float32, by float32, weight float64) {
	kernel.Axpy(by, row, s.sum(c))
	s.masses[c] += weight
}

// weigh works out the cost of a class.
func (s *classSums) weigh(c int) {
	s.squares[c] = float64(kernel.Dot(s.sum(c), s.sum(c)))
	s.costs[c] = s.cost(s.masses[c], s.squares[c])
}

func (s *classSums) weighAll() {
	for c := range s.costs {
		s.weigh(c)
	}
}

// cost is that of a class with this mass and squared length of its sum.
func (s *classSums) cost(mass, square float64) classCost {
	switch {
	case mass == 0: // it takes no part; finite, so that all are alike where none does
		return classCost{less: 1e30}
	case square <= 0:
		return classCost{}
	}
	pulled, psi := solver.Pull(s.settings.Pull, square/(mass*mass))
	return classCost{float32(2 * s.settings.Tau / mass * pulled), float32(s.settings.Tau * psi)}
}

// of turns a row's products with the sums into -a.
func (s *classSums) of(products []float32) {
	for c, x := range s.costs {
		products[c] = x.by*products[c] - x.less
	}
}

func (s classSums) clone() classSums {
	s.values, s.masses = slices.Clone(s.values), slices.Clone(s.masses)
	s.squares, s.costs = slices.Clone(s.squares), slices.Clone(s.costs)
	return s
}
