package solver

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// withTerms is a drawn episode with edges of both signs, to examples too, and evidence.
func withTerms(seed uint64) *Problem {
	p := drawn(seed)
	random := rand.New(rand.NewPCG(seed, 9))
	all := p.Rows.N() + len(p.Examples.labels)
	for range 3 * p.Rows.N() {
		if a, b := random.IntN(p.Rows.N()), random.IntN(all); a != b {
			p.Edges = append(p.Edges, Edge{int32(a), int32(b), float32(random.NormFloat64())})
		}
	}
	p.Evidence = make([]float32, p.Rows.N()*p.K)
	for i := range p.Evidence {
		p.Evidence[i] = float32(random.Float64())
	}
	p.Weights = &Weights{Prototypes: .2 + random.Float64(), Nearest: max(0, 6*random.Float64()-1)}
	return p
}

// An edge of large weight gives two rows one class, one of large negative weight two classes; evidence gives
// a row its class.
func TestEdgesAndEvidenceCount(t *testing.T) {
	for _, which := range []engine{rowEngine, gramEngine} {
		solve, _ := defaultSolver(t, nil)
		solve.engine = which
		p := &Problem{
			Rows: Matrix([]float32{1, 0, 0, 1, .9, .1, .1, .9, .8, .1, .1, .8}, 2), K: 2,
			Labels: []int32{0, 1, -1, -1, -1, -1}, Embedding: &Embedding{Mean: make([]float32, 2)},
		}
		for _, c := range []struct {
			name     string
			edges    []Edge
			evidence []float32
			want     []int32
		}{
			{"nothing", nil, nil, []int32{0, 1, 0, 1, 0, 1}},
			{"row 2 is row 3, which is labelled row 1", []Edge{{2, 3, 40}, {3, 1, 40}}, nil, []int32{0, 1, 1, 1, 0, 1}},
			{"row 4 is not labelled row 0", []Edge{{0, 4, -40}}, nil, []int32{0, 1, 0, 1, 1, 1}},
			{"evidence", nil, []float32{0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 40, 0}, []int32{0, 1, 0, 1, 0, 0}},
		} {
			p.Edges, p.Evidence = c.edges, c.evidence
			r, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Labels, c.want) {
				t.Errorf("engine %d: %s: %v, want %v", which, c.name, r.Labels, c.want)
			}
		}
	}
}

// Neighbours are chosen by distance and lag together, in both engines. Terms that are set before Solve count.
func TestLagChoosesNeighbours(t *testing.T) {
	const n = 40
	p := &Problem{
		Rows: Rows{d: 8}, K: 1, Examples: Labelled(Matrix([]float32{1, 0, 0, 0, 0, 0, 0, 0}, 8), []int32{0}),
		Embedding: &Embedding{Mean: make([]float32, 8)},
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range n * p.Rows.d {
		p.Rows.values = append(p.Rows.values, float32(random.NormFloat64()))
	}
	for _, which := range []engine{rowEngine, gramEngine} {
		solve, settings := defaultSolver(t, func(s *Settings) { s.Rho = 2 })
		solve.engine = which
		p.Graph = Graph{}
		space, err := solve.Embed(p)
		if err != nil {
			t.Fatal(err)
		}
		between := make([]float32, n*n)
		space.Distances(between, n)
		p.Graph = Lagged([]float32{0, 100, 200, 300}) // all far ones get the same
		r, err := space.Solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range between {
			a, b := zOf(r)[i/n*8:i/n*8+8], zOf(r)[i%n*8:i%n*8+8]
			if math.Abs(float64(d-kernel.SquaredDistance(a, b))) > 1e-5 {
				t.Errorf("engine %d: squared distance %g of rows %d and %d", which, d, i/n, i%n)
			}
		}
		for i := 1; i < n-1; i++ {
			columns, _ := r.episode.graph.Affinity.Row(i)
			for _, q := range columns {
				if q != n && max(i-int(q), int(q)-i) > settings.Rho {
					t.Errorf("engine %d: row %d has neighbour %d", which, i, q)
				}
			}
		}
	}
}

// Rows that come before the first one are related in time as if they stood before it.
func TestEarlierRowsAreRelatedInTime(t *testing.T) {
	const n, d, earlier = 60, 8, 23
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([]float32, n*d)
	for i := range rows {
		rows[i] = float32(random.NormFloat64())
	}
	for _, which := range []engine{rowEngine, gramEngine} {
		var graphs [2][n]map[int]bool // in time
		for i, shift := range []int{0, earlier} {
			p := &Problem{
				Rows: Matrix(slices.Concat(rows[shift*d:], rows[:shift*d]), d), K: 1,
				Examples:  Labelled(Matrix([]float32{1, 0, 0, 0, 0, 0, 0, 0}, d), []int32{0}),
				Embedding: &Embedding{Mean: make([]float32, d)}, Graph: Lagged([]float32{-.4, -.2, .1, .5}), Earlier: shift,
			}
			solve, _ := defaultSolver(t, func(s *Settings) { s.Rho = 3 })
			solve.engine = which
			r, err := solve.Solve(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for q := range n {
				columns, _ := r.episode.graph.Affinity.Row(q)
				near := map[int]bool{}
				for _, c := range columns {
					if c < n {
						near[(int(c)+shift)%n] = true
					}
				}
				graphs[i][(q+shift)%n] = near
			}
		}
		for q := range n {
			if !maps.Equal(graphs[0][q], graphs[1][q]) {
				t.Errorf("engine %d: row %d has neighbours %v, not %v", which, q, graphs[1][q], graphs[0][q])
			}
		}
	}
}

func TestFaultsOfGraphTerms(t *testing.T) {
	solve, _ := defaultSolver(t, nil)
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(*Problem){
		"an edge to itself":      func(p *Problem) { p.Edges = []Edge{{1, 1, 1}} },
		"an edge out of range":   func(p *Problem) { p.Edges = []Edge{{1, 1000, 1}} },
		"an edge without weight": func(p *Problem) { p.Edges = []Edge{{1, 2, nan}} },
		"evidence beyond all others": func(p *Problem) {
			p.Evidence = make([]float32, p.Rows.N()*p.K)
			p.Evidence[1] = 3e38
		},
		"evidence of another size":    func(p *Problem) { p.Evidence = make([]float32, 3) },
		"a weight beyond all others":  func(p *Problem) { p.Edges = []Edge{{0, 1, 3e38}} },
		"evidence that is not finite": func(p *Problem) { p.Evidence = make([]float32, p.Rows.N()*p.K); p.Evidence[1] = nan },
		"a lag that is not finite":    func(p *Problem) { p.Graph = Lagged([]float32{nan}) },
		"more earlier rows than rows": func(p *Problem) { p.Earlier = p.Rows.N() + 1 },
	} {
		p := drawn(1)
		spoil(p)
		if _, err := solve.Solve(context.Background(), p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Both engines measure the same distances before there is a graph, with a metric too.
func TestDistancesAgreeBetweenEngines(t *testing.T) {
	for seed := range uint64(40) {
		p := drawn(seed)
		var squares [2][]float32
		for i, which := range []engine{rowEngine, gramEngine} {
			solve, _ := defaultSolver(t, nil)
			solve.engine = which
			space, err := solve.Embed(p)
			if err != nil {
				t.Fatal(err)
			}
			squares[i] = make([]float32, p.Rows.N()*p.Rows.N())
			space.Distances(squares[i], p.Rows.N())
		}
		for i, a := range squares[0] {
			if b := squares[1][i]; math.Abs(float64(a-b)) > 1e-4 {
				t.Fatalf("seed %d: rows %d and %d are %g and %g apart", seed, i/p.Rows.N(), i%p.Rows.N(), a, b)
			}
		}
	}
}
