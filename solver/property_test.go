package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/slkstream/slkstream/index"
)

// drawnSettings draws settings that a user might choose, lambda up to 50.
func drawnSettings(t *rapid.T) Settings {
	s, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	s.Method = rapid.SampledFrom(Methods).Draw(t, "method")
	s.Lambda = rapid.SampledFrom([]float64{0, .3, .8, 2, 8, 50}).Draw(t, "lambda")
	s.Tau = rapid.SampledFrom([]float64{0, .5, 5, 15, 200}).Draw(t, "tau")
	s.Pull = rapid.SampledFrom([]float64{0, .3, .75, .95, 1}).Draw(t, "u")
	s.Beta = rapid.SampledFrom([]float64{0, .25, 3}).Draw(t, "beta")
	s.PriorCounts = rapid.SampledFrom([]float64{0, 5, 10}).Draw(t, "cpi")
	s.Kappa = rapid.SampledFrom([]float64{1, 10, 60}).Draw(t, "kappa")
	s.Sigma = rapid.SampledFrom([]float64{0, .3, 1.1}).Draw(t, "sigma")
	s.Inner = rapid.IntRange(1, 4).Draw(t, "inner")
	s.Rho = rapid.IntRange(0, 12).Draw(t, "rho")
	s.Power = rapid.SampledFrom([]float64{1, .75, .5, .6}).Draw(t, "power")
	s.EdgeDecay = rapid.SampledFrom([]float64{0, .3, .75, 1}).Draw(t, "edge decay")
	s.Anneal = rapid.SampledFrom([]float64{0, .2, .65, 1}).Draw(t, "anneal")
	s.AnnealSteps = rapid.IntRange(0, 14).Draw(t, "anneal steps")
	s.Check = true
	return s
}

// drawnAffinity is any symmetric graph over rows and examples, independent of the rows' values; nil half
// of the time.
func drawnAffinity(t *rapid.T, p *Problem) *index.Affinity {
	if rapid.Bool().Draw(t, "graph from the rows") {
		return nil
	}
	all := p.Rows.N() + len(p.Examples.labels)
	dense := make([]float32, p.Rows.N()*all)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "graph"), 3))
	for range rapid.IntRange(0, 6*p.Rows.N()).Draw(t, "edges") {
		a, b, w := random.IntN(p.Rows.N()), random.IntN(all), []float32{.5, 1, 3, -1}[random.IntN(4)]
		if a != b {
			dense[a*all+b] = w
			if b < p.Rows.N() {
				dense[b*all+a] = w
			}
		}
	}
	a := &index.Affinity{Offsets: []int64{0}}
	for i := range p.Rows.N() {
		for j, w := range dense[i*all : i*all+all] {
			if w != 0 {
				a.Columns, a.Weights = append(a.Columns, int32(j)), append(a.Weights, w)
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Columns)))
	}
	return a
}

// drawnTerms adds edges and evidence of both signs, half of the time each.
func drawnTerms(t *rapid.T, p *Problem) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "terms"), 4))
	all := p.Rows.N() + len(p.Examples.labels)
	for range rapid.SampledFrom([]int{0, 4 * p.Rows.N()}).Draw(t, "edges") {
		if a, b := random.IntN(p.Rows.N()), random.IntN(all); a != b {
			p.Edges = append(p.Edges, Edge{int32(a), int32(b), []float32{.5, 2, -4}[random.IntN(3)]})
		}
	}
	if rapid.Bool().Draw(t, "weights") {
		p.Weights = &Weights{
			Prototypes: rapid.SampledFrom([]float64{.05, .5, 1, 3}).Draw(t, "prototypes"),
			Nearest:    rapid.SampledFrom([]float64{0, .5, 6, 40}).Draw(t, "nearest"),
		}
	}
	if rapid.Bool().Draw(t, "evidence") {
		p.Evidence = make([]float32, p.Rows.N()*p.K)
		for i := range p.Evidence {
			p.Evidence[i] = max(0, float32(random.NormFloat64())) - .3
		}
	}
}

func solved(t *rapid.T, s Settings, p *Problem, which engine) *Result {
	solve, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	solve.engine = which
	r, err := assessed(solve.Solve(context.Background(), p))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// R never rises, labelled rows keep their labels, every row of S is a distribution, and nothing is NaN.
func TestDescent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(rapid.Uint64().Draw(t, "episode")), drawnSettings(t)
		p.Graph.affinity = drawnAffinity(t, p)
		drawnTerms(t, p)
		r := solved(t, s, p, rapid.SampledFrom([]engine{bySize, rowEngine, gramEngine}).Draw(t, "engine"))
		if r.Rises > 0 {
			t.Fatalf("R rose: %v", r.Trace)
		}
		if len(r.Trace) < 1 || r.Trace[len(r.Trace)-1] != r.ObjectiveAfter {
			t.Fatalf("the trace %v does not end at %g", r.Trace, r.ObjectiveAfter)
		}
		for i, y := range p.Labels {
			if y >= 0 && r.Labels[i] != y {
				t.Fatalf("row %d: answer %d, label %d", i, r.Labels[i], y)
			}
		}
		for i := range p.Rows.N() {
			var sum float64
			for c, v := range r.S[i*p.K : i*p.K+p.K] {
				if !(v >= 0 && v <= 1.0001) {
					t.Fatalf("s of row %d, class %d is %g", i, c, v)
				}
				if p.labelled(i) && (v == 1) != (int32(c) == p.Labels[i]) {
					t.Fatalf("labelled row %d has s %g in class %d", i, v, c)
				}
				sum += float64(v)
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Fatalf("s of row %d sums to %g", i, sum)
			}
		}
		for _, values := range [][]float32{r.episode.centres(), r.Confidence, r.Agreement, zOf(r)} {
			for i, v := range values {
				if v-v != 0 {
					t.Fatalf("%g at %d", v, i)
				}
			}
		}
	})
}

// Answers follow a permutation of class names.
func TestClassNamesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawn(rapid.Uint64().Draw(t, "episode")), drawnSettings(t)
		// With huge weights the last bit of a sum can change an answer. So it can with a narrow kernel: a mode
		// between rows farther apart than twice its width moves to one of them, and rounding may decide to which. Rows
		// are of length 1, so up to 2 apart.
		s.Lambda, s.Tau, s.Kappa = min(s.Lambda, 2), min(s.Tau, 15), min(s.Kappa, 10)
		if s.Sigma > 0 {
			s.Sigma = max(s.Sigma, 1.5)
		}
		names := rapid.Permutation(numbers(p.K)).Draw(t, "names")
		q := *p
		q.Labels, q.Examples.labels = append([]int32(nil), p.Labels...), append([]int32(nil), p.Examples.labels...)
		for _, list := range [][]int32{q.Labels, q.Examples.labels} {
			for i, y := range list {
				if y >= 0 {
					list[i] = int32(names[y])
				}
			}
		}
		if p.Prior != nil {
			q.Prior = &Prior{Means: make([]float32, p.K*p.Rows.d), Weights: make([]float32, p.K)}
			for c, to := range names {
				copy(q.Prior.Means[to*p.Rows.d:], p.Prior.Means[c*p.Rows.d:c*p.Rows.d+p.Rows.d])
				q.Prior.Weights[to] = p.Prior.Weights[c]
			}
		}
		if p.Proportions != nil {
			q.Proportions = make([]float64, p.K)
			for c, to := range names {
				q.Proportions[to] = p.Proportions[c]
			}
		}
		a, b := solved(t, s, p, bySize), solved(t, s, &q, bySize)
		for i := range p.Rows.N() {
			for c, to := range names {
				if x, y := a.S[i*p.K+c], b.S[i*p.K+to]; math.Abs(float64(x-y)) > 2e-3 {
					t.Fatalf("row %d, class %d: s %g, and %g when it is called %d", i, c, x, y, to)
				}
			}
		}
	})
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// The same input gives the same bits for every GOMAXPROCS, and in a used Solver as in a new one.
func TestSameAnswerOnAnyCores(t *testing.T) {
	const n, d, k = serial + 300, 8, 7
	p := drawn(5)
	big := &Problem{Rows: Rows{d: d}, K: k, Labels: make([]int32, n), Judge: true}
	for i := range n * d {
		big.Rows.values = append(big.Rows.values, p.Rows.values[i%len(p.Rows.values)]+float32(i%97)/100)
	}
	for i := range n {
		if big.Labels[i] = -1; i%200 == 0 {
			big.Labels[i] = int32(i / 200 % k)
		}
	}
	unlabelled := *big
	unlabelled.Labels = nil
	for _, method := range []Method{"slk-means", "slk-ms", "kmeans"} {
		for name, problem := range map[string]*Problem{"few-shot": big, "clusters": &unlabelled} {
			t.Run(string(method)+" "+name, func(t *testing.T) {
				s, err := Preset("default").Settings()
				if name == "clusters" {
					s, err = Clustering(method)
				}
				if err != nil {
					t.Fatal(err)
				}
				s.Method, s.Check, s.Outer = method, true, 3
				var first *Result
				for _, cores := range []int{1, 5} {
					before := runtime.GOMAXPROCS(cores)
					solve, err := New(s)
					if err != nil {
						t.Fatal(err)
					}
					if cores == 5 { // a used Solver
						if _, err := assessed(solve.Solve(context.Background(), p)); err != nil {
							t.Fatal(err)
						}
					}
					r, err := assessed(solve.Solve(context.Background(), problem))
					runtime.GOMAXPROCS(before)
					if err != nil {
						t.Fatal(err)
					}
					if r.Rises > 0 {
						t.Errorf("R rose: %v", r.Trace)
					}
					if first == nil {
						first = r
						continue
					}
					if r.ObjectiveAfter != first.ObjectiveAfter {
						t.Errorf("R is %v on %d cores, %v on one", r.ObjectiveAfter, cores, first.ObjectiveAfter)
					}
					for i, v := range r.S {
						if v != first.S[i] {
							t.Fatalf("s at %d is %v on %d cores, %v on one", i, v, cores, first.S[i])
						}
					}
				}
			})
		}
	}
}
