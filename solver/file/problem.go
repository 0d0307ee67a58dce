// Package file labels a whole file of embeddings as one problem: one graph over all rows, one start, one
// objective that only falls. If the rows do not fit into the given memory, they are quantised and still
// solved as one problem. The package knows nothing of file formats.
package file

import (
	"context"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/vector"
)

// Problem is a file to be labelled.
type Problem struct {
	N, D, K int // K 0, without labelled rows: the graph decides the number of clusters

	// Read passes every raw row of the file to use, in order, with the class of a labelled row or -1. The row is
	// valid during the call. Read is called twice, or three times with codes, and again for each trial;
	// once more if a class has a vector and no support.
	// It must give the same rows each time.
	Read func(use func(row []float32, class int32) error) error

	Support        vector.Matrix // labelled raw rows outside the file; N 0: none
	SupportClasses []int32

	// ClassVectors are K vectors of the classes, as a text encoder gives them for the classes' names; N 0: none.
	// With them a class needs no labelled row.
	ClassVectors vector.Matrix
	made         int // of Support, the last: made from ClassVectors
}

// Settings are the options of a solve. The zero value is the default.
type Settings struct {
	Seed         uint64
	Index        string  // search for neighbours, one of index.Methods; "": auto
	RecallFloor  float64 // of the search for neighbours; 0: the index's default
	Ordered      *bool   // whether the order of the rows means something; nil: as far as Result.Coherence says
	Memory       int64   // limit of Plan.Bytes; 0: none
	UnknownRate  float64 // share of the rows of labelled classes that may be called unknown
	Power        float64 // exponent of values in a file with labelled rows; 0: .75
	Uncalibrated bool    // hold no labelled rows out: solve as with few labels, and do not calibrate confidence
	Check        bool    // compute R after each half-step: Result.Trace and Rises (slow)

	Adjust   func(*solver.Settings)                // changes the solver's settings; may be nil
	Plan     func(Plan)                            // called before the work and when recall is known; may be nil
	Progress func(stage string, done, total int64) // may be nil

	trial *fold // what is held out; nil: nothing
}

func (s *Settings) adjusted(c solver.Settings) solver.Settings {
	if s.Adjust != nil {
		s.Adjust(&c)
	}
	return c
}

// Result is a labelled file. Classes are those of the problem; without labelled rows clusters 0 to K-1.
type Result struct {
	Labels       []int32
	K            int // classes or clusters
	Confidence   []float32
	UnknownScore []float32 // nil without labelled rows
	UnknownLimit float64   // a row with a higher score is of no labelled class; +Inf: not known
	Calibrated   bool      // confidence was fitted to labelled rows that the solve did not see

	Second []int32 // second-best class of each row

	Sample    []int32      // rows spread over the file, at most 2,000
	Positions [][2]float32 // of Sample, along the two directions in which it varies most

	Coherence float64 // how much the order of the rows means, 0 to 1
	Sweeps    int
	Trace     []float64
	Rises     int
	Plan      Plan
}

func (p *Problem) check() error {
	switch {
	case p.N < 1 || p.D < 1 || p.K < 0:
		return fmt.Errorf("file: %d rows of dimension %d and %d classes: too few", p.N, p.D, p.K)
	case p.N+p.Support.N > math.MaxInt32/2:
		return fmt.Errorf("file: %d rows are more than %d", p.N, math.MaxInt32/2)
	case p.Support.N != len(p.SupportClasses):
		return fmt.Errorf("support: %d rows and %d classes", p.Support.N, len(p.SupportClasses))
	case p.Support.N > 0 && p.Support.D != p.D:
		return fmt.Errorf("rows of %d numbers, but the support has %d", p.D, p.Support.D)
	}
	for i, c := range p.SupportClasses {
		if c < 0 || int(c) >= p.K {
			return fmt.Errorf("support %d: class %d is not one of %d", i, c, p.K)
		}
	}
	return nil
}

// each calls Read, checks what it gives, and stops when ctx is done.
func (p *Problem) each(ctx context.Context, use func(i int, row []float32, class int32) error) error {
	i := 0
	err := p.Read(func(row []float32, class int32) error {
		if i%chunk == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch at := vector.NotFinite(row); {
		case i >= p.N:
			return fmt.Errorf("file: more than %d rows: it has changed since they were counted", p.N)
		case len(row) != p.D:
			return fmt.Errorf("row %d has %d numbers, not %d", i, len(row), p.D)
		case at >= 0:
			return fmt.Errorf("row %d: value %g at %d is not finite", i, row[at], at)
		case class < -1 || int(class) >= p.K:
			return fmt.Errorf("row %d: class %d is not -1 and not one of %d", i, class, p.K)
		}
		i++
		return use(i-1, row, class)
	})
	if err == nil && i < p.N {
		err = fmt.Errorf("file: %d rows, not %d: it has changed since they were counted", i, p.N)
	}
	return err
}
