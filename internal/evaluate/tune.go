package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/slkstream/slkstream/solver"
)

// Tune chooses lambda, rho, tau and beta by successive halving: many settings on few units, the better third
// of them on more, until few are left on all. Every setting is measured on the same units, so that
// differences are paired. The starting settings always reach the last rung, and are kept unless another's
// gain exceeds its confidence interval.
type Tune struct {
	Start solver.Settings
	Drawn int // settings tried at first
	Units int // units of the last rung: tasks of each cell, or streams, or files
	Seed  uint64

	// Measure returns the accuracy, in per cent, of settings on each of the first units.
	Measure  func(ctx context.Context, s solver.Settings, units int) ([]float64, error)
	Progress func(done, of int)
}

// TuneRow is one setting at the last rung it reached.
type TuneRow struct {
	Rung       int     `json:"rung"`
	Units      int     `json:"units"` // tasks per set, shots and mix; streams or files per set and shots
	Lambda     float64 `json:"lambda"`
	Rho        int     `json:"rho"`
	Tau        float64 `json:"tau"`
	Beta       float64 `json:"beta"`
	Accuracy   float64 `json:"accuracy"`   // percentage
	Difference float64 `json:"difference"` // from the start, paired
	CI95       float64 `json:"ci95"`       // of the difference
	Chosen     bool    `json:"chosen"`

	Settings solver.Settings `json:"-"`
	scores   []float64
}

// Run measures the settings and returns all of them: the chosen one first, then by rung reached and accuracy.
func (t *Tune) Run(ctx context.Context) ([]TuneRow, error) {
	rows := t.draw(t.Drawn)
	rungs := []int{}
	// three times the units for a third of the settings, so that each rung costs the same
	for n := t.Units; ; n /= 3 {
		rungs = append(rungs, max(1, n))
		if len(rungs) == 4 || n < 3 {
			break
		}
	}
	slices.Reverse(rungs)
	var out []TuneRow
	done, total, left := 0, 0, len(rows)
	for range rungs {
		total, left = total+left, max(3, left/3)
	}
	for rung, units := range rungs {
		for i := range rows {
			var err error
			s := rows[i].Settings
			if rows[i].scores, err = t.Measure(ctx, s, units); err != nil {
				return nil, fmt.Errorf("lambda %g, rho %d, tau %g, beta %g: %w", s.Lambda, s.Rho, s.Tau, s.Beta, err)
			}
			rows[i].Rung, rows[i].Units = rung+1, units
			rows[i].Accuracy = Average(rows[i].scores).Mean
			d := Paired(rows[i].scores, rows[0].scores)
			rows[i].Difference, rows[i].CI95 = d.Mean, d.CI95
			if done++; t.Progress != nil {
				t.Progress(min(done, total), total)
			}
		}
		// The start stays first; the others are sorted by accuracy.
		slices.SortStableFunc(rows[1:], func(a, b TuneRow) int { return compareDown(a.Accuracy, b.Accuracy) })
		if rung < len(rungs)-1 {
			keep := min(len(rows), max(3, len(rows)/3))
			out = append(slices.Clone(rows[keep:]), out...)
			rows = rows[:keep]
		}
	}
	best := 0
	if len(rows) > 1 && len(rows[1].scores) > 1 && rows[1].Difference > rows[1].CI95 {
		best = 1
	}
	rows[best].Chosen = true
	rows[0], rows[best] = rows[best], rows[0]
	return append(rows, out...), nil
}

func compareDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// draw returns the start and settings around it: each number up to four times larger or smaller, uniform
// in its logarithm.
func (t *Tune) draw(n int) []TuneRow {
	start, random := t.Start, rand.New(rand.NewPCG(t.Seed, 0x7e5e))
	rows := []TuneRow{{Settings: start}}
	around := func(v, least float64) float64 {
		exact := max(v, least) * math.Exp2(4*random.Float64()-2)
		// more digits would suggest a precision that was not measured
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(exact, 'g', 2, 64), 64)
		return rounded
	}
	for len(rows) < n {
		s := start
		s.Lambda, s.Tau, s.Beta = around(start.Lambda, .1), around(start.Tau, .5), around(start.Beta, .05)
		s.Rho = max(1, start.Rho-2+random.IntN(7))
		rows = append(rows, TuneRow{Settings: s})
	}
	for i := range rows {
		s := rows[i].Settings
		rows[i].Lambda, rows[i].Rho, rows[i].Tau, rows[i].Beta = s.Lambda, s.Rho, s.Tau, s.Beta
	}
	return rows
}

// TaskMeasure draws the tasks of sets and returns a function that measures settings on the first ones of each
// cell. The metric is learned with the settings of the start.
func (f *FewShot) TaskMeasure(ctx context.Context, sets []*Set, start solver.Settings) (
	func(context.Context, solver.Settings, int) ([]float64, error), error,
) {
	type prepared struct {
		set       *Set
		cells     []Cell
		embedding *solver.Embedding
	}
	type job struct {
		of   *prepared
		task *Task
	}
	var data []prepared
	for _, set := range sets {
		split, cells, err := f.Draw(set)
		if err != nil {
			return nil, err
		}
		var earlier []*Task
		random := randomFor(f.Seed, set.Name, "base")
		for range f.MetricEpisodes {
			if task := split.baseTask(random, f.Ways); task != nil {
				earlier = append(earlier, task)
			}
		}
		embedding, err := learnBase(ctx, set, split.BaseRows, earlier, start)
		if err != nil {
			return nil, err
		}
		data = append(data, prepared{set, cells, embedding})
	}
	return func(ctx context.Context, s solver.Settings, tasks int) ([]float64, error) {
		var jobs []job
		for i := range data {
			for _, cell := range data[i].cells {
				for _, task := range cell.Tasks[:tasks] {
					jobs = append(jobs, job{&data[i], task})
				}
			}
		}
		scores := make([]float64, len(jobs))
		errs := make([]error, min(runtime.GOMAXPROCS(0), len(jobs)))
		var group sync.WaitGroup
		for w := range errs {
			group.Go(func() {
				solve, err := solver.New(s)
				for i := w; i < len(jobs) && err == nil; i += len(errs) {
					var o outcome
					o, err = solveTask(ctx, solve, jobs[i].of.set, jobs[i].task, jobs[i].of.embedding)
					scores[i] = o.accuracy
				}
				errs[w] = err
			})
		}
		group.Wait()
		return scores, errors.Join(errs...)
	}, nil
}
