package taught

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// Prepared is a set of examples prepared for the solver.
type Prepared struct {
	*solver.Examples
	Entries []*Entry  // its rows, by label, then id
	Names   []string  // of its classes, ascending
	Counts  []float64 // rows of each class
	Sum     uint64    // of the examples
	Unfit   int       // examples left out: of another model or dimension
}

// Fit is the model and dimension of the examples that are prepared together, and the solver's power.
type Fit struct {
	Model     string
	Dimension int
	Power     float64
}

// prepare prepares examples, sorted by label, then id, for streams of this fit.
func (f Fit) prepare(examples []*Entry) (*Prepared, error) {
	p := &Prepared{Entries: make([]*Entry, 0, len(examples))}
	rows, classes := make([][]float32, 0, len(examples)), make([]int32, 0, len(examples))
	for _, e := range examples {
		if len(e.Vector) != f.Dimension || e.Model != "" && e.Model != f.Model || e.Label == "" {
			p.Unfit++
			continue
		}
		if len(p.Names) == 0 || p.Names[len(p.Names)-1] != e.Label {
			p.Names, p.Counts = append(p.Names, e.Label), append(p.Counts, 0)
		}
		p.Counts[len(p.Names)-1]++
		p.Sum += e.Sum
		p.Entries = append(p.Entries, e)
		rows, classes = append(rows, e.Vector), append(classes, int32(len(p.Names)-1))
	}
	var err error
	p.Examples, err = solver.NewExamples(rows, classes, len(p.Names), f.Dimension, f.Power)
	return p, err
}

// Row returns the row of an example; false: the set does not have it.
func (p *Prepared) Row(e *Entry) (int32, bool) {
	if e == nil {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(p.Entries, e, func(a, b *Entry) int {
		return cmp.Or(a.compareLabel(b.Label), a.compareID(b.ID))
	})
	return int32(i), found
}

// readyMost bounds the models and dimensions that a set is kept prepared for: a sender may invent them.
const readyMost = 4

// An episode gets all examples of the labels topic, for every stream or for this one, if they are no more
// than WholeMost: they are prepared once for all episodes. Of more, and of more than NearMost of the
// stream's own feed, it gets about NearMost, of the classes nearest to its items.
const (
	WholeMost = 4096
	NearMost  = 1024
)

// Prepared returns the examples of the set that an episode of these rows gets, or without rows at most about whole
// that stand for all classes. What does not depend on the rows, which fixed says, is prepared at its first use, for
// all streams of this fit.
func (s *Set) Prepared(f Fit, rows [][]float32, whole int) (p *Prepared, fixed bool, err error) {
	if s.Len() > whole && len(rows) > 0 {
		p, err = f.prepare(s.near(rows, NearMost))
		return p, false, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if p := s.ready[f]; p != nil {
		return p, true, nil
	}
	list := slices.Collect(s.byLabel.All())
	if len(list) > whole {
		list = s.near(nil, whole)
	}
	if p, err = f.prepare(list); err != nil {
		return nil, false, err
	}
	if s.ready == nil || len(s.ready) >= readyMost {
		s.ready = map[Fit]*Prepared{}
	}
	s.ready[f] = p
	return p, true, nil
}
