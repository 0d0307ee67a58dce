package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/slkstream/slkstream/solver"
)

// Tune chooses lambda, rho, tau and beta by successive halving: many settings on few tasks, the better third
// of them on more, until few are left on all. Every setting sees the same tasks, so that differences are
// paired. The settings it starts from are always among the last, and stay unless another beats them beyond
// its confidence interval.
type Tune struct {
	FewShot  FewShot // Tasks is what the last are measured on; Candidates[0] is where it starts from
	Drawn    int     // settings tried at first; 0 is 54
	Progress func(done, of int)
}

// TuneRow is one setting at the last rung that it reached.
type TuneRow struct {
	Rung       int     `json:"rung"`
	Tasks      int     `json:"tasks"` // of each set, shots and mix
	Lambda     float64 `json:"lambda"`
	Rho        int     `json:"rho"`
	Tau        float64 `json:"tau"`
	Beta       float64 `json:"beta"`
	Accuracy   float64 `json:"accuracy"`   // per cent
	Difference float64 `json:"difference"` // to the start, task by task
	CI95       float64 `json:"ci95"`       // of the difference
	Chosen     bool    `json:"chosen"`

	Settings solver.Settings `json:"-"`
	scores   []float64       // a task
}

// tuned is a set with what its tasks may know beforehand.
type tuned struct {
	set       *Set
	cells     []Cell
	embedding *solver.Embedding
}

// Run measures, and returns every setting, the chosen one first, then by how far it came and how well it did.
func (t *Tune) Run(ctx context.Context, sets []*Set) ([]TuneRow, error) {
	start := t.FewShot.Candidates[0].Settings
	var data []tuned
	for _, set := range sets {
		split, cells, err := t.FewShot.Draw(set)
		if err != nil {
			return nil, err
		}
		var earlier []*Task
		random := randomFor(t.FewShot.Seed, set.Name, "base")
		for range t.FewShot.MetricEpisodes {
			if task := split.baseTask(random, t.FewShot.Ways); task != nil {
				earlier = append(earlier, task)
			}
		}
		embedding, err := learnBase(ctx, set, split.BaseRows, earlier, start)
		if err != nil {
			return nil, err
		}
		data = append(data, tuned{set, cells, embedding})
	}
	drawn := t.Drawn
	if drawn == 0 {
		drawn = 54
	}
	rows := t.draw(start, drawn)
	rungs := []int{}
	// three times the tasks for a third of the settings: each rung costs the same
	for n := t.FewShot.Tasks; ; n /= 3 {
		rungs = append(rungs, max(1, n))
		if len(rungs) == 4 || n <= 3 {
			break
		}
	}
	slices.Reverse(rungs)
	var out []TuneRow
	done, total, left := 0, 0, len(rows)
	for range rungs {
		total, left = total+left, max(3, left/3)
	}
	for rung, tasks := range rungs {
		for i := range rows {
			var err error
			if rows[i].scores, err = t.measure(ctx, data, rows[i].Settings, tasks); err != nil {
				return nil, err
			}
			rows[i].Rung, rows[i].Tasks = rung+1, tasks
			rows[i].Accuracy = Average(rows[i].scores).Mean
			d := Paired(rows[i].scores, rows[0].scores)
			rows[i].Difference, rows[i].CI95 = d.Mean, d.CI95
			if done++; t.Progress != nil {
				t.Progress(min(done, total), total)
			}
		}
		// The start stays first; the others follow by accuracy.
		slices.SortStableFunc(rows[1:], func(a, b TuneRow) int { return compareDown(a.Accuracy, b.Accuracy) })
		if rung < len(rungs)-1 {
			keep := min(len(rows), max(3, len(rows)/3))
			out = append(slices.Clone(rows[keep:]), out...)
			rows = rows[:keep]
		}
	}
	best := 0
	if len(rows) > 1 && rows[1].Difference > rows[1].CI95 {
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

// draw returns the start and settings around it: each number up to four times larger or smaller, evenly in
// its logarithm.
func (t *Tune) draw(start solver.Settings, n int) []TuneRow {
	random := rand.New(rand.NewPCG(t.FewShot.Seed, 0x7e5e))
	rows := []TuneRow{{Settings: start}}
	around := func(v, least float64) float64 {
		exact := max(v, least) * math.Exp2(4*random.Float64()-2)
		// more digits would claim what was not measured
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

// measure is the accuracy of each of the first tasks of every cell of every set.
func (t *Tune) measure(ctx context.Context, data []tuned, s solver.Settings, tasks int) ([]float64, error) {
	type job struct {
		of   *tuned
		task *Task
	}
	var jobs []job
	for i := range data {
		for _, cell := range data[i].cells {
			for _, task := range cell.Tasks[:tasks] {
				jobs = append(jobs, job{&data[i], task})
			}
		}
	}
	scores := make([]float64, len(jobs))
	workers := min(runtime.GOMAXPROCS(0), len(jobs))
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			solve, err := solver.New(s)
			for i := w; i < len(jobs) && err == nil; i += workers {
				var o outcome
				o, err = solveTask(ctx, solve, jobs[i].of.set, jobs[i].task, jobs[i].of.embedding)
				scores[i] = o.accuracy
			}
			errs[w] = err
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("lambda %g, rho %d, tau %g, beta %g: %w", s.Lambda, s.Rho, s.Tau, s.Beta, err)
		}
	}
	return scores, nil
}
