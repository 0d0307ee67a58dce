package solver

import (
	"fmt"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Labelled is a set of labelled rows outside of episodes, raised to the power and centred once for all
// problems that use it. It is immutable: any number of solvers may read it concurrently.
type Labelled struct {
	id        uint64 // unique in this process
	d, k      int
	rows      []float32 // n x d: raised, less the reference
	reference []float32 // d: subtracted; the mean of the raised rows, each class weighing the same, or mu
	squares   []float32 // n: |row|^2
	class     []int32   // n
	counts    []float64 // k
	sums      []float32 // k x d, of rows
}

// NewLabelled prepares rows of dimension d, each of one of the classes 0 to k-1, for solvers with this power.
func NewLabelled(rows [][]float32, classes []int32, k, d int, power float64) (*Labelled, error) {
	if k < 0 || d < 0 || len(classes) != len(rows) {
		return nil, fmt.Errorf("labelled rows: %d rows of dimension %d and %d labels of %d classes",
			len(rows), d, len(classes), k)
	}
	l := new(Labelled)
	l.begin(classes, k, d)
	for i, row := range rows {
		if c := classes[i]; c < 0 || int(c) >= k {
			return nil, fmt.Errorf("labelled row %d: label %d is not one of %d classes", i, c, k)
		}
		if len(row) != d {
			return nil, fmt.Errorf("labelled row %d: dimension %d, not %d", i, len(row), d)
		}
		Raise(l.rows[i*d:i*d+d], row, power)
		if j := vector.NotFinite(l.rows[i*d : i*d+d]); j >= 0 {
			return nil, fmt.Errorf("labelled row %d: value %g at %d is not finite when raised to the power %g",
				i, row[j], j, power)
		}
	}
	classMean(l.reference, l.rows, l.class, vector.Zeroed(l.counts, k))
	l.centre(l.reference)
	return l, nil
}

var lastLabelled atomic.Uint64

// Len returns the number of rows, Classes the class of each. The caller must not change them.
func (l *Labelled) Len() int         { return len(l.class) }
func (l *Labelled) Classes() []int32 { return l.class }

// begin makes room for rows. The caller fills in raised rows, then calls centre.
func (l *Labelled) begin(classes []int32, k, d int) {
	l.id, l.d, l.k = lastLabelled.Add(1), d, k
	l.class = append(l.class[:0], classes...)
	l.rows, l.reference = vector.Resize(l.rows, len(classes)*d), vector.Resize(l.reference, d)
	l.squares, l.counts = vector.Resize(l.squares, len(classes)), vector.Zeroed(l.counts, k)
	l.sums = vector.Zeroed(l.sums, k*d)
}

// centre subtracts reference from the raised rows and sums up the differences by class.
func (l *Labelled) centre(reference []float32) {
	copy(l.reference, reference)
	clear(l.counts)
	clear(l.sums)
	for i, c := range l.class {
		row := l.rows[i*l.d : i*l.d+l.d]
		kernel.Axpy(-1, l.reference, row)
		l.squares[i] = kernel.Dot(row, row)
		if c >= 0 {
			l.counts[c]++
			kernel.Axpy(1, row, l.sums[int(c)*l.d:int(c)*l.d+l.d])
		}
	}
}

// Beside is a Labelled as one problem uses it. Its rows are anchors of the problem, in their order.
type Beside struct {
	*Labelled
	Names   []int32 // the problem's class of each class of the set; -1: its rows count in the mean only
	Without []int32 // rows that do not count at all, ascending
}
