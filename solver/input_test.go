package solver

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver/metric"
)

// defaultSolver has the settings of preset default, modified by change unless that is nil.
func defaultSolver(t testing.TB, change func(*Settings)) (*Solver, Settings) {
	t.Helper()
	settings, err := Preset("default").Settings()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&settings)
	}
	solve, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return solve, settings
}

// few is a small valid episode for tests to break.
func few() *Problem {
	return &Problem{
		Rows:   Matrix([]float32{1, 0, 0, 1, .9, .1, .1, .9, 1, .2, .2, 1}, 2),
		K:      2,
		Labels: []int32{0, 1, -1, -1, -1, -1},
	}
}

func TestFaultsAreNamed(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	chain := func(columns ...int32) *index.Affinity {
		return &index.Affinity{Offsets: []int64{0, 1, 2, 2, 2, 2, 2}, Columns: columns, Weights: []float32{1, 1}}
	}
	for _, c := range []struct {
		spoil func(p *Problem)
		want  string
	}{
		{func(p *Problem) { p.Rows.values[5] = nan }, "row 2: value NaN at 1"},
		{func(p *Problem) { p.Rows.values[11] = inf }, "row 5: value +Inf at 1"},
		{func(p *Problem) { p.Rows, p.Labels = Matrix(nil, 2), nil }, "0 rows"},
		{func(p *Problem) { p.K = 0 }, "0 classes"},
		{func(p *Problem) { p.Rows.d = 0 }, "dimension 0"},
		{func(p *Problem) { p.Rows.values = p.Rows.values[1:] }, "row 5: dimension 1, not 2"},
		{func(p *Problem) { p.Labels[3] = 2 }, "row 3: label 2"},
		{func(p *Problem) { p.Labels[3] = -2 }, "row 3: label -2"},
		{func(p *Problem) { p.Labels = p.Labels[1:] }, "5 labels for 6 rows"},
		{func(p *Problem) { p.Examples = Labelled(Matrix([]float32{1}, 2), []int32{0}) }, "example 0: dimension 1, not 2"},
		{func(p *Problem) { p.Examples = Labelled(Matrix([]float32{1, 2, 3}, 3), []int32{0}) }, "example 0: dimension 3, not 2"},
		{func(p *Problem) { p.Examples = Labelled(List([][]float32{{1, 2}, {1}}), []int32{0, 0}) }, "example 1: dimension 1"},
		{func(p *Problem) { p.Examples = Labelled(Matrix([]float32{1, 2}, 2), nil) }, "examples: 0 labels for 1"},
		{func(p *Problem) { p.Examples = Labelled(Matrix([]float32{1, nan}, 2), []int32{0}) }, "example 0: value NaN at 1"},
		{func(p *Problem) { p.Examples = Labelled(Matrix([]float32{1, 2}, 2), []int32{-1}) }, "example 0: label -1"},
		{func(p *Problem) { p.Prior = &Prior{Means: make([]float32, 6), Weights: make([]float32, 2)} }, "prior: 6 values"},
		{func(p *Problem) { p.Prior = &Prior{Means: make([]float32, 4), Weights: []float32{1, -1}} }, "prior: weight -1 of class 1"},
		{func(p *Problem) { p.Prior = &Prior{Means: []float32{0, 0, 0, nan}, Weights: []float32{1, 1}} }, "prior: mean of class 1"},
		{func(p *Problem) { p.Proportions = []float64{1} }, "proportions: 1 for 2 classes"},
		{func(p *Problem) { p.Proportions = []float64{1, math.NaN()} }, "proportions: NaN of class 1"},
		{func(p *Problem) { p.Embedding = &Embedding{Mean: []float32{1}} }, "embedding: mean of dimension 1"},
		{func(p *Problem) { p.Embedding = &Embedding{Mean: []float32{0, inf}} }, "embedding: mean: value +Inf at 1"},
		{func(p *Problem) {
			p.Embedding = &Embedding{Mean: make([]float32, 2), Metric: metric.Of(make([]float32, 2), make([]float32, 2), nil)}
		}, "metric: centre of dimension 2, 2 vector values and 0 scales"},
		{func(p *Problem) { p.Graph = GraphOf(&index.Affinity{}) }, "affinity: -1 rows"},
		{func(p *Problem) { p.Labels = nil; p.Graph = GraphOf(chain(1, 2)) }, "affinity: not symmetric: row 0 has 1"},
		{func(p *Problem) { p.Graph = GraphOf(chain(0, 0)) }, "affinity: row 0: a self loop"},
		{func(p *Problem) { p.Graph = GraphOf(chain(6, 0)) }, "affinity: row 0: column 6"},
		{func(p *Problem) { p.Graph = GraphOf(chain(1, 0)); p.Graph.affinity.Weights[1] = nan }, "affinity: row 1: weight NaN"},
		{func(p *Problem) { p.Graph = GraphOf(chain(1, 0)); p.Graph.affinity.Offsets[1] = 3 }, "affinity: row 1: offsets fall"},
	} {
		solve, _ := defaultSolver(t, nil)
		p := few()
		c.spoil(p)
		if _, err := solve.Solve(context.Background(), p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		_, err := assessed(solve.Solve(context.Background(), p))
		var row *RowError
		var class *ClassError
		if strings.HasPrefix(c.want, "row 2") && !(errors.As(err, &row) && row.Row == 2) ||
			strings.Contains(c.want, "of class 1") && !(errors.As(err, &class) && class.Class == 1) {
			t.Errorf("%T %v names no row or class", err, err)
		}
		if _, err := solve.Solve(context.Background(), few()); err != nil { // and the Solver still works
			t.Errorf("after %q: %v", c.want, err)
		}
	}
}

func TestSettingsReportEveryFault(t *testing.T) {
	settings, err := Preset("").Settings()
	if err != nil {
		t.Fatal(err)
	}
	settings.Method, settings.Lambda, settings.Tau, settings.Pull, settings.Outer = "magic", -1, math.Inf(1), 1.5, 0
	settings.Power, settings.Index, settings.RecallFloor = math.NaN(), "cards", 2
	settings.Start = "luck"
	err = settings.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`method "magic"`, "lambda -1", "tau +Inf", "pull 1.5", "outer 0", "power NaN", `start "luck"`, `index "cards"`, "recall-floor 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from: %v", want, err)
		}
	}
	var setting *SettingError
	if !errors.As(err, &setting) || setting.Setting != "method" {
		t.Errorf("%v names no setting", err)
	}
	if _, err := Preset("best").Settings(); err == nil {
		t.Error("an unknown preset is no error")
	}
	if _, err := Clustering("best"); err == nil {
		t.Error("an unknown method is no error")
	}
}

// Unusual but valid episodes are solved.
func TestOddEpisodes(t *testing.T) {
	for name, p := range map[string]*Problem{
		"one row":            {Rows: Matrix([]float32{1, 2, 3}, 3), K: 1},
		"one labelled row":   {Rows: Matrix([]float32{1, 2, 3}, 3), K: 4, Labels: []int32{2}},
		"one dimension":      {Rows: Matrix([]float32{1, -1, 2, -2}, 1), K: 2, Labels: []int32{0, 1, -1, -1}},
		"fewer rows than k":  {Rows: Matrix([]float32{1, 0, 0, 1, 1, 1}, 2), K: 9},
		"all rows equal":     {Rows: Matrix([]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2), K: 3},
		"zero rows":          {Rows: Matrix([]float32{0, 0, 0, 0, 1, 0, 0, 1}, 2), K: 2, Labels: []int32{-1, -1, 0, 1}},
		"nothing to solve":   {Rows: Matrix([]float32{0, 1, 1, 0}, 2), K: 2, Labels: []int32{1, 0}},
		"only examples":      {Rows: Matrix([]float32{0, 1, 1, 0}, 2), K: 2, Examples: Labelled(Matrix([]float32{0, 2, 2, 0}, 2), []int32{1, 0})},
		"equal examples":     {Rows: Matrix([]float32{1, 0, 1, 0, 1, 0, 0, 1, 0, 1, .5, .6}, 2), K: 2, Labels: []int32{0, 0, 0, 1, 1, -1}},
		"far apart in scale": {Rows: Matrix([]float32{1e-20, 0, 0, 1e20, 1e20, 1e-20, 1e-20, 1e-20}, 2), K: 2, Labels: []int32{0, 1, -1, -1}},
		"huge values":        {Rows: Matrix([]float32{3e38, 0, 0, 3e38, 3e38, 1}, 2), K: 2, Labels: []int32{0, 1, -1}},
		"absent proportions": {Rows: Matrix([]float32{1, 0, 0, 1, 1, 0, 0, 1}, 2), K: 3, Labels: []int32{0, 1, -1, -1}, Proportions: []float64{0, 0, 5}},
		"zero proportion":    {Rows: Matrix([]float32{1, 0, 0, 1, 1, 0, 0, 1}, 2), K: 2, Labels: []int32{0, 1, -1, -1}, Proportions: []float64{0, 5}},
		"between its labels": { // where the mode of class 2 starts, every kernel is about 0
			Rows: Matrix([]float32{-1, 1, -1, -1, 1, -1, 1, -1, -1, 1, -1, -1, -1, -1, -1, -1}, 1), K: 3,
			Labels:    []int32{0, -1, 2, -1, -1, 1, 2, -1, 0, -1, -1, 0, -1, -1, -1, -1},
			Embedding: &Embedding{Mean: []float32{0}},
		},
		"prior alone": {
			Rows: Matrix([]float32{1, 0, 0, 1}, 2), K: 3,
			Prior: &Prior{Means: []float32{1, 0, 0, 1, 0, 0}, Weights: []float32{2, 2, 1}},
		},
	} {
		p.Judge = true
		for _, preset := range []string{"default", "paper", "clustering"} {
			for _, method := range Methods {
				for _, loud := range []float64{1, 1e6} {
					settings, err := Preset(preset).Settings()
					if preset == "clustering" {
						settings, err = Clustering(method)
					}
					if err != nil {
						t.Fatal(err)
					}
					settings.Method, settings.Check = method, true
					settings.Lambda, settings.Tau = settings.Lambda*loud, min(1e6, settings.Tau*loud)
					settings.Lambda = min(1e6, settings.Lambda)
					solve, err := New(settings)
					if err != nil {
						t.Fatal(err)
					}
					r, err := assessed(solve.Solve(context.Background(), p))
					if err != nil {
						t.Errorf("%s, %s, %s: %v", name, preset, method, err)
						continue
					}
					sound(t, name+", "+string(preset)+", "+string(method), p, r)
				}
			}
		}
	}
}

// sound fails on a label that is no class, a changed given label, and any value that is not finite.
func sound(t *testing.T, name string, p *Problem, r *Result) {
	t.Helper()
	for i, y := range r.Labels {
		if y < 0 || int(y) >= p.K || p.labelled(i) && y != p.Labels[i] {
			t.Errorf("%s: row %d has label %d", name, i, y)
		}
	}
	for what, values := range map[string][]float32{"S": r.S, "prototypes": r.episode.centres(), "confidence": r.Confidence, "agreement": r.Agreement} {
		for i, v := range values {
			if v-v != 0 {
				t.Errorf("%s: %s has %g at %d", name, what, v, i)
				return
			}
		}
	}
	if r.ObjectiveAfter != r.ObjectiveAfter {
		t.Errorf("%s: R %g", name, r.ObjectiveAfter)
	}
}

// FuzzSolve makes an episode of any bytes: Solve returns an error or a valid answer and never panics, and R
// does not rise except with the paper's settings.
func FuzzSolve(f *testing.F) {
	f.Add([]byte("some rows of an episode, with enough bytes for several of them"), uint8(2), uint8(2), uint8(0), uint8(3), false)
	f.Add(
		[]byte{0, 0, 128, 127, 0, 0, 192, 127, 1, 2, 3, 4, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0},
		uint8(1),
		uint8(3),
		uint8(1),
		uint8(0),
		true,
	)
	f.Fuzz(func(t *testing.T, data []byte, d, k, method, labels uint8, clusters bool) {
		p := &Problem{Rows: Rows{d: int(d%9) + 1}, K: int(k%7) + 1, Judge: true}
		for at := 0; at+4*p.Rows.d <= len(data) && p.Rows.N() < 60; at += 4 * p.Rows.d {
			for i := range p.Rows.d {
				v := math.Float32frombits(binary.LittleEndian.Uint32(data[at+4*i:]))
				if labels&1 == 0 { // half of the time numbers of everyday size
					v = float32(int8(data[at+4*i])) / 16
				}
				p.Rows.values = append(p.Rows.values, v)
			}
			y := int32(-1)
			if !clusters && data[at]&3 == labels>>1&3 {
				y = int32(data[at+1]) % int32(p.K)
			}
			p.Labels = append(p.Labels, y)
		}
		settings, err := Presets[int(method)/8%len(Presets)].Settings()
		if clusters {
			settings, err = Clustering(Methods[int(method)%len(Methods)])
		}
		if err != nil {
			t.Fatal(err)
		}
		settings.Method, settings.Check = Methods[int(method)%len(Methods)], true
		solve, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		r, err := assessed(solve.Solve(context.Background(), p))
		if err != nil {
			return
		}
		sound(t, "fuzz", p, r)
		if r.Rises > 0 && settings.Paper == (PaperSettings{}) {
			t.Errorf("R rose: %v", r.Trace)
		}
	})
}

// A solve reports its progress, and stops when its context is cancelled.
func TestProgressAndCancel(t *testing.T) {
	solve, settings := defaultSolver(t, func(s *Settings) { s.Tolerance = 0 })
	p, most := drawn(2), 0
	p.Examples.rows.values, p.Examples.labels, p.Embedding = nil, nil, nil
	p.Progress = func(sweeps, of int) {
		if sweeps != most+1 || of != settings.Outer*settings.Inner {
			t.Errorf("%d sweeps of %d after %d", sweeps, of, most)
		}
		most = sweeps
	}
	r, err := assessed(solve.Solve(context.Background(), p))
	if err != nil {
		t.Fatal(err)
	}
	if r.Sweeps != most {
		t.Errorf("%d sweeps, %d of them told of", r.Sweeps, most)
	}

	ctx, cancel := context.WithCancel(context.Background())
	p.Progress = func(sweeps, _ int) {
		if sweeps == 3 {
			cancel()
		}
		if sweeps > 3 {
			t.Error("a cancelled solve went on")
		}
	}
	if _, err := assessed(solve.Solve(ctx, p)); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// Without prior counts the proportion of a class may become 0, and an episode may have no rows to count.
// R stays finite.
func TestNoPriorCounts(t *testing.T) {
	for _, which := range []engine{rowEngine, gramEngine} {
		solve, _ := defaultSolver(t, func(s *Settings) { s.PriorCounts, s.Beta, s.Tau, s.Check = 0, 3, 400, true })
		solve.engine = which
		p := &Problem{
			Rows: Matrix([]float32{1, 0, 0, 1, 1, .01, 1, .02}, 2), K: 2, Labels: []int32{0, 1, -1, -1},
			Embedding: &Embedding{Mean: make([]float32, 2)},
		}
		for range 2 {
			r, err := assessed(solve.Solve(context.Background(), p))
			if err != nil {
				t.Fatal(err)
			}
			if r.Rises > 0 || r.ObjectiveAfter-r.ObjectiveAfter != 0 {
				t.Errorf("engine %d, %v: R is %g, with %d rises: %v", which, p.Labels, r.ObjectiveAfter, r.Rises, r.Trace)
			}
			p.Labels = []int32{0, 1, 0, 0}
		}
	}
}

// A solve with one worker starts no goroutine, even to search a graph of more rows than one core usually
// searches, and does not allocate what starting them needs.
func TestOneWorkerStartsNoGoroutine(t *testing.T) {
	const n, d = 2600, 16
	random := rand.New(rand.NewPCG(1, 2))
	p := &Problem{Rows: Rows{d: d}, K: 3, Labels: make([]int32, n), Embedding: &Embedding{Mean: make([]float32, d)}}
	for i := range n {
		for range d {
			p.Rows.values = append(p.Rows.values, float32(random.NormFloat64()))
		}
		if p.Labels[i] = -1; i < 9 {
			p.Labels[i] = int32(i % 3)
		}
	}
	allocations := func(workers int) float64 {
		solve, _ := defaultSolver(t, func(s *Settings) { s.Workers = workers })
		solve.engine = rowEngine
		return testing.AllocsPerRun(3, func() {
			if _, err := assessed(solve.Solve(context.Background(), p)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, two := allocations(1), allocations(2); one >= two {
		t.Errorf("%g allocations with one worker, %g with two", one, two)
	}
}
