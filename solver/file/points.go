package file

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
)

// embedding maps a raw row x to sign(x)|x|^power - mean, scaled to length 1; without support to x scaled to
// length 1, less mean.
type embedding struct {
	power   float64
	mean    []float32
	support bool
}

// raise fills out with sign(x)|x|^power of a raw row; without support with the row scaled to length 1.
func (e *embedding) raise(out, x []float32) {
	if !e.support {
		vector.Unit(out, x)
		return
	}
	solver.Raise(out, x, e.power)
}

// embed fills out with the embedding of a raw row.
func (e *embedding) embed(out, x []float32) {
	e.raise(out, x)
	kernel.Axpy(-1, e.mean, out)
	if e.support {
		vector.Unit(out, out)
	}
}

// classSums returns the sums of the labelled rows of k classes, and their numbers. class has -1 for a row
// without a label.
func classSums(x *solver.Points, class []int32, k int) (sums vector.Matrix, count []float32) {
	sums, count = vector.New(k, x.D), make([]float32, k)
	scratch := x.Scratch(1)
	for p, y := range class {
		if y >= 0 {
			kernel.Axpy(1, x.Rows(p, p+1, scratch), sums.Row(int(y)))
			count[y]++
		}
	}
	return sums, count
}

// mean accumulates the mean of raised rows: with support of the labelled rows, each class weighing the same;
// else of all rows.
type mean struct {
	sums   [][]float64 // of each class, the last of all rows
	counts []float64
	row    []float32
}

func newMean(k, d int) *mean {
	return &mean{sums: make([][]float64, k+1), counts: make([]float64, k+1), row: make([]float32, d)}
}

// add adds a raw row; class is -1 for one without a label.
func (m *mean) add(e *embedding, x []float32, class int32) {
	if class < 0 {
		if e.support {
			return
		}
		class = int32(len(m.sums) - 1)
	}
	if m.sums[class] == nil {
		m.sums[class] = make([]float64, len(m.row))
	}
	e.raise(m.row, x)
	for j, v := range m.row {
		m.sums[class][j] += float64(v)
	}
	m.counts[class]++
}

func (m *mean) mean() []float32 {
	classes := 0.
	for _, n := range m.counts {
		if n > 0 {
			classes++
		}
	}
	out := make([]float32, len(m.row))
	for c, sum := range m.sums {
		for j, v := range sum {
			out[j] += float32(v / m.counts[c] / classes)
		}
	}
	return out
}
