package evaluate

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/solver"
)

func preset(t *testing.T, name string) Candidate {
	t.Helper()
	s, err := solver.Preset(name).Settings()
	if err != nil {
		t.Fatal(err)
	}
	return Candidate{Method: string(s.Method), Preset: name, Settings: s}
}

func TestFewShotOnDigits(t *testing.T) {
	set := digits()
	nearest := preset(t, "default")
	nearest.Method, nearest.Settings.Method = "nearest", "nearest"
	few := FewShot{
		Ways: 5, Shots: []int{1, 5}, Mixes: mixes(t, "balanced", "absent"), Tasks: 20, Seed: 1, SplitSeed: 1,
		MetricEpisodes: 10,
		Candidates:     []Candidate{preset(t, "default"), nearest}, Workers: 1,
	}
	results, err := few.Run(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	few.Workers = 3
	again, err := few.Run(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 8 {
		t.Fatalf("%d results for 4 cells of 2 methods", len(results))
	}
	var gain float64
	for i, r := range results {
		if !slices.Equal(r.PerTask, again[i].PerTask) {
			t.Errorf("%d shots, %s, %s: the answer depends on the number of workers", r.Shots, r.Mix, r.Method)
		}
		if r.ObjectiveRises != 0 || r.LostSupports != 0 {
			t.Errorf("%d shots, %s, %s: %d rises, %d lost supports", r.Shots, r.Mix, r.Method, r.ObjectiveRises,
				r.LostSupports)
		}
		if r.Accuracy < 50 || r.Accuracy > 100 || r.EpisodeMicros <= 0 {
			t.Errorf("%+v", r)
		}
		if i%2 == 0 {
			if r.Paired != nil {
				t.Errorf("the first method is compared with itself: %+v", r.Paired)
			}
			continue
		}
		first := results[i-1]
		if r.Paired == nil || math.Abs(r.Paired.Difference-(r.Accuracy-first.Accuracy)) > 1e-9 ||
			r.Paired.Preset != "default" {
			t.Errorf("paired %+v, accuracies %v and %v", r.Paired, r.Accuracy, first.Accuracy)
		}
		gain -= r.Paired.Difference / 4
	}
	if gain < 3 {
		t.Errorf("the default gains %.1f over the nearest prototype, expected 3 and more", gain)
	}
}

// The true classes of the queries never reach the solver: changing them does not change the answers.
func TestTruthOfTheQueriesChangesNothing(t *testing.T) {
	set := digits()
	few := FewShot{Ways: 5, Shots: []int{1}, Mixes: mixes(t, "balanced"), Tasks: 5, Seed: 1, SplitSeed: 1}
	_, cells, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	solve, err := solver.New(preset(t, "default").Settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range cells[0].Tasks {
		r, err := solve.Solve(t.Context(), task.problem(set, nil))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(r.Labels)
		hidden := *task
		hidden.Truth = append(slices.Clone(task.Truth[:task.Support]),
			make([]int32, len(task.Rows)-task.Support)...)
		if r, err = solve.Solve(t.Context(), hidden.problem(set, nil)); err != nil ||
			!slices.Equal(r.Labels, want) {
			t.Fatalf("the answers follow the truth: %v", err)
		}
	}
}

func TestExportedTasksAreTheTasks(t *testing.T) {
	set := digits()
	few := FewShot{Ways: 5, Shots: []int{1}, Mixes: mixes(t, "dirichlet:0.5"), Tasks: 4, Seed: 1, SplitSeed: 1}
	split, cells, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := ExportTasks(folder, set, split, cells); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []int32 {
		a, err := array.ReadIntegers(filepath.Join(folder, "digits", name))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	rows, truth, support := read(
		"1-shot-dirichlet-0.5/rows.npy",
	), read(
		"1-shot-dirichlet-0.5/truth.npy",
	), read(
		"1-shot-dirichlet-0.5/support.npy",
	)
	at := 0
	for _, task := range cells[0].Tasks {
		for i, row := range task.Rows {
			if rows[at] != row || truth[at] != task.Truth[i] || (support[at] == 1) != (i < task.Support) {
				t.Fatalf("value %d: row %d, truth %d, support %d", at, rows[at], truth[at], support[at])
			}
			at++
		}
	}
	if at != len(rows) || !slices.Equal(read("base.npy"), split.BaseRows) {
		t.Errorf("%d of %d rows, base rows differ", at, len(rows))
	}
}

func TestSummaryWeighsSetsThenRegimes(t *testing.T) {
	s := NewSummary()
	for _, r := range []FewShotResult{
		{Data: "a", Shots: 1, Mix: "balanced", Preset: "p", Accuracy: 60, CI95: 3},
		{Data: "b", Shots: 1, Mix: "balanced", Preset: "p", Accuracy: 80, CI95: 4},
		{Data: "a", Shots: 5, Mix: "balanced", Preset: "p", Accuracy: 90, CI95: 0},
	} {
		s.Add(r)
	}
	means := s.Means()
	if len(means) != 3 || means[0].Accuracy != (Estimate{70, 2.5}) || means[2].Cells != "all" ||
		means[2].Accuracy != (Estimate{80, 1.25}) {
		t.Errorf("%+v", means)
	}
}

func TestAverageAndPaired(t *testing.T) {
	if e := Average([]float64{1, 2, 3, 4}); e.Mean != 2.5 || math.Abs(e.CI95-1.96*math.Sqrt(5./3/4)) > 1e-12 {
		t.Errorf("%+v", e)
	}
	if e := Paired([]float64{5, 7, 9}, []float64{4, 6, 8}); e != (Estimate{1, 0}) {
		t.Errorf("a constant difference has no spread: %+v", e)
	}
}

func TestTuneKeepsTheStartUnlessBeaten(t *testing.T) {
	set := digits()
	few := FewShot{
		Ways: 5, Shots: []int{5}, Mixes: mixes(t, "balanced"), Tasks: 12, Seed: 1, SplitSeed: 1,
		Candidates: []Candidate{preset(t, "default")},
	}
	search := func(start solver.Settings, drawn int) ([]TuneRow, error) {
		measure, err := few.TaskMeasure(t.Context(), []*Set{set}, start)
		if err != nil {
			t.Fatal(err)
		}
		return (&Tune{Start: start, Drawn: drawn, Units: few.Tasks, Seed: few.Seed, Measure: measure}).Run(t.Context())
	}
	start := few.Candidates[0].Settings
	rows, err := search(start, 9)
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for i, r := range rows {
		if r.Chosen {
			chosen++
		}
		if r.Chosen != (i == 0) || r.Lambda <= 0 || r.Tau <= 0 || r.Rho < 1 {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if len(rows) != 9 || chosen != 1 {
		t.Errorf("%d rows, %d chosen", len(rows), chosen)
	}
	start.Tau = .01 // only the graph counts: any other tau is better
	if rows, err = search(start, 27); err != nil {
		t.Fatal(err)
	}
	if rows[0].Tau <= .01 || rows[0].Difference <= rows[0].CI95 {
		t.Errorf("a useless start was kept: %+v", rows[0])
	}
}
