package evaluate

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/solver"
)

// Candidate is one configuration to measure: the settings, and the names that results carry. A method of
// Updates ignores the settings' numbers.
type Candidate struct {
	Method, Preset string
	Settings       solver.Settings
}

// FewShot measures few-shot labelling on drawn tasks.
type FewShot struct {
	Ways           int
	Shots          []int
	Mixes          []Mix
	Tasks          int
	Seed           uint64
	SplitSeed      uint64
	Novel          []int32 // classes from which tasks are drawn, instead of the set's own
	MetricEpisodes int     // earlier base tasks from which the metric is learned; 0: none
	Candidates     []Candidate
	Workers        int                // 0: one per core
	Progress       func(done, of int) // called by one goroutine at a time
}

// FewShotResult is one cell of one candidate.
type FewShotResult struct {
	Data           string  `json:"data"`
	Ways           int     `json:"ways"`
	Shots          int     `json:"shots"`
	Mix            string  `json:"mix"`
	Tasks          int     `json:"tasks"`
	Method         string  `json:"method"`
	Preset         string  `json:"preset"`
	Accuracy       float64 `json:"accuracy"` // per cent
	CI95           float64 `json:"ci95"`
	EpisodeMicros  float64 `json:"episode_us"`
	Iterations     float64 `json:"iterations"`
	ObjectiveRises int     `json:"objective_rises"`
	LostSupports   int     `json:"lost_supports"`
	Paired         *Versus `json:"paired,omitempty"`

	PerTask []float64 `json:"-"` // accuracy of each task, in the order drawn
}

// Versus is the paired difference from the first candidate of the run, on the same tasks.
type Versus struct {
	Method     string  `json:"method"`
	Preset     string  `json:"preset"`
	Difference float64 `json:"difference"`
	CI95       float64 `json:"ci95"`
}

// validate reports settings that fail on any data.
func (f *FewShot) validate() error {
	if f.Tasks < 1 || len(f.Shots) == 0 || len(f.Mixes) == 0 || len(f.Candidates) == 0 || f.MetricEpisodes < 0 {
		return fmt.Errorf(
			"few-shot: tasks %d, %d shots, %d mixes, %d methods, metric-episodes %d: need at least one of each",
			f.Tasks,
			len(f.Shots),
			len(f.Mixes),
			len(f.Candidates),
			f.MetricEpisodes,
		)
	}
	for _, c := range f.Candidates {
		if _, err := solver.New(c.Settings); err != nil {
			return fmt.Errorf("method %s, preset %s: %w", c.Method, c.Preset, err)
		}
	}
	return nil
}

// Cell is one (shots, mix) of a set with its tasks.
type Cell struct {
	Shots int
	Mix   Mix
	Tasks []*Task
}

// Draw splits the set and draws the tasks of every cell. A seed draws the same tasks for all candidates.
func (f *FewShot) Draw(set *Set) (*Split, []Cell, error) {
	split, err := newSplit(set, f.Novel, f.SplitSeed)
	if err != nil {
		return nil, nil, err
	}
	var cells []Cell
	for _, shots := range f.Shots {
		for _, mix := range f.Mixes {
			if err := split.check(f.Ways, shots, mix); err != nil {
				return nil, nil, err
			}
			cell := Cell{Shots: shots, Mix: mix}
			random := randomFor(f.Seed, set.Name, fmt.Sprint(f.Ways), fmt.Sprint(shots), mix.Name)
			for range f.Tasks {
				task, err := split.draw(random, f.Ways, shots, mix)
				if err != nil {
					return nil, nil, err
				}
				cell.Tasks = append(cell.Tasks, task)
			}
			cells = append(cells, cell)
		}
	}
	return split, cells, nil
}

// randomFor returns a separate random sequence for each named purpose.
func randomFor(seed uint64, purpose ...string) *rand.Rand {
	h := fnv.New64a()
	for _, p := range purpose {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Run measures every candidate on every cell of the set.
func (f *FewShot) Run(ctx context.Context, set *Set) ([]FewShotResult, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
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
	embeddings := make([]*solver.Embedding, len(f.Candidates))
	for i, c := range f.Candidates {
		if embeddings[i], err = learnBase(ctx, set, split.BaseRows, earlier, c.Settings); err != nil {
			return nil, err
		}
	}
	var results []FewShotResult
	done, total := 0, len(cells)*len(f.Candidates)*f.Tasks
	for _, cell := range cells {
		for i, c := range f.Candidates {
			result, err := f.cell(ctx, set, cell, c, embeddings[i], func() {
				if done++; f.Progress != nil {
					f.Progress(done, total)
				}
			})
			if err != nil {
				return nil, err
			}
			if i > 0 {
				first := results[len(results)-i]
				d := Paired(result.PerTask, first.PerTask)
				result.Paired = &Versus{first.Method, first.Preset, d.Mean, d.CI95}
			}
			results = append(results, result)
		}
	}
	return results, nil
}

// outcome is the result of one solved task.
type outcome struct {
	accuracy    float64 // percentage of the queries
	iterations  int
	rises, lost int
}

func (f *FewShot) cell(ctx context.Context, set *Set, cell Cell, c Candidate, e *solver.Embedding,
	step func(),
) (FewShotResult, error) {
	r := FewShotResult{
		Data: set.Name, Ways: f.Ways, Shots: cell.Shots, Mix: cell.Mix.Name,
		Tasks: len(cell.Tasks), Method: c.Method, Preset: c.Preset,
	}
	workers := f.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	outcomes := make([]outcome, len(cell.Tasks))
	var group sync.WaitGroup
	var lock sync.Mutex
	var failed error
	for w := range min(workers, len(cell.Tasks)) {
		group.Go(func() {
			settings := c.Settings
			settings.Check = true
			solve, err := solver.New(settings)
			for t := w; err == nil && t < len(cell.Tasks); t += workers {
				if slices.Contains(Updates, c.Method) {
					outcomes[t], err = updateTask(ctx, c.Method, set, cell.Tasks[t], e)
				} else {
					outcomes[t], err = solveTask(ctx, solve, set, cell.Tasks[t], e)
				}
				if err == nil {
					lock.Lock()
					step()
					lock.Unlock()
				}
			}
			if err != nil {
				lock.Lock()
				failed = err
				lock.Unlock()
			}
		})
	}
	group.Wait()
	if failed != nil {
		return r, fmt.Errorf("data %s, shots %d, mix %s, method %s, preset %s: %w", set.Name, cell.Shots,
			cell.Mix.Name, c.Method, c.Preset, failed)
	}
	for _, o := range outcomes {
		r.PerTask = append(r.PerTask, o.accuracy)
		r.Iterations += float64(o.iterations) / float64(len(outcomes))
		r.ObjectiveRises += o.rises
		r.LostSupports += o.lost
	}
	mean := Average(r.PerTask)
	r.Accuracy, r.CI95 = mean.Mean, mean.CI95
	if slices.Contains(Updates, c.Method) {
		return r, nil
	}
	var err error
	r.EpisodeMicros, err = timeTasks(ctx, set, cell.Tasks, c.Settings, e)
	return r, err
}

// timedTasks bounds how many tasks are solved again, one at a time, to measure their time.
const timedTasks = 60

// timeTasks returns the median wall time of one task in microseconds, one task at a time on one goroutine.
func timeTasks(ctx context.Context, set *Set, tasks []*Task, settings solver.Settings,
	e *solver.Embedding,
) (float64, error) {
	solve, err := solver.New(settings)
	if err != nil {
		return 0, err
	}
	var times []time.Duration
	for _, task := range tasks[:min(timedTasks, len(tasks))] {
		p := task.problem(set, e)
		from := time.Now()
		if _, err := solve.Solve(ctx, p); err != nil {
			return 0, err
		}
		times = append(times, time.Since(from))
	}
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1e3, nil
}

// problem returns the task as the solver's problem: the classes of the support, and -1 for every query.
func (t *Task) problem(set *Set, e *solver.Embedding) *solver.Problem {
	p := &solver.Problem{K: t.Ways, Embedding: e, Labels: make([]int32, len(t.Rows))}
	rows := make([][]float32, len(t.Rows))
	for i, row := range t.Rows {
		rows[i], p.Labels[i] = set.row(row), -1
		if i < t.Support {
			p.Labels[i] = t.Truth[i]
		}
	}
	p.Rows = solver.List(rows)
	return p
}

func solveTask(ctx context.Context, solve *solver.Solver, set *Set, t *Task,
	e *solver.Embedding,
) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	r, err := solve.Solve(ctx, t.problem(set, e))
	if err != nil {
		return outcome{}, err
	}
	o := outcome{iterations: r.Iterations, rises: r.Rises, accuracy: t.accuracy(r.Labels)}
	for i := range t.Support {
		if r.Labels[i] != t.Truth[i] || r.S[i*t.Ways+int(t.Truth[i])] != 1 {
			o.lost++
		}
	}
	return o, nil
}

func updateTask(ctx context.Context, method string, set *Set, t *Task, e *solver.Embedding) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	labels, err := updated(method, t.problem(set, e))
	if err != nil {
		return outcome{}, err
	}
	return outcome{accuracy: t.accuracy(labels)}, nil
}

// accuracy returns the percentage of queries labelled right.
func (t *Task) accuracy(labels []int32) float64 {
	right := 0
	for i := t.Support; i < len(t.Rows); i++ {
		if labels[i] == t.Truth[i] {
			right++
		}
	}
	return 100 * float64(right) / float64(len(t.Rows)-t.Support)
}
