package recent

import (
	"iter"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Example is one of those in force.
type Example struct {
	ID     string
	Stream string // that it is for; "": all
	Model  string // of the vector; "": any model of its dimension
	Vector []float32
}

// Examples lists those in force.
type Examples = iter.Seq[Example]

// compare finds the pupils that have a rival: another example than the one of their lesson, within their
// distance.
func (p pupils) compare(examples Examples) {
	var left []*pupil
	for i := range p {
		if x := &p[i]; x.compared {
			left = append(left, x)
		}
	}
	for len(left) > 0 { // lessons may be of several models
		d := left[0].block.dimension
		other := func(x *pupil) bool { return x.block.dimension != d }
		same := slices.DeleteFunc(slices.Clone(left), other)
		left = slices.DeleteFunc(left, func(x *pupil) bool { return !other(x) })
		compareRows(same, d, examples)
	}
}

// examplesTogether is how many examples are multiplied with the pupils at once.
const examplesTogether = 64

// compareRows compares pupils whose vectors have dimension d, each until it has a rival.
func compareRows(list []*pupil, d int, examples Examples) {
	rows, others := vector.New(len(list), d), vector.New(examplesTogether, d)
	for i, x := range list {
		x.block.decode(rows.Row(i), x.at)
	}
	products := make([]float32, len(list)*examplesTogether)
	batch := make([]Example, 0, examplesTogether)
	squares := make([]float64, examplesTogether)
	meet := func() {
		m := len(batch)
		kernel.Products(products, rows.Values, others.Values, len(list), m, d)
		for i := len(list) - 1; i >= 0; i-- {
			x := list[i]
			for j := range batch {
				if within(float64(products[i*m+j]), squares[j], x.within) && x.rival(&batch[j]) {
					x.rivalled = true
					last := len(list) - 1 // takes its place
					list[i] = list[last]
					copy(rows.Row(i), rows.Row(last))
					list = list[:last]
					break
				}
			}
		}
		batch = batch[:0]
	}
	for e := range examples {
		if len(e.Vector) != d {
			continue
		}
		copy(others.Row(len(batch)), e.Vector)
		squares[len(batch)] = float64(kernel.Dot(e.Vector, e.Vector))
		if batch = append(batch, e); len(batch) < examplesTogether {
			continue
		}
		if meet(); len(list) == 0 {
			return
		}
	}
	meet()
}

// rival says whether the item is compared with an example.
func (x *pupil) rival(e *Example) bool {
	return e.ID != x.lesson.ID &&
		(e.Stream == "" || e.Stream == x.Stream) && (e.Model == "" || e.Model == x.Model)
}
