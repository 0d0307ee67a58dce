package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// brute is the specification of exact search: every distance in float64, sorted, ties by id.
func brute(rows []float32, n, d, rho int) *Neighbours {
	out := new(Neighbours)
	out.reset(n, rho)
	type candidate struct {
		distance float64
		id       int32
	}
	for p := range n {
		var list []candidate
		for q := range n {
			if q != p {
				list = append(list, candidate{squaredExactly(rows[p*d:p*d+d], rows[q*d:q*d+d]), int32(q)})
			}
		}
		sort.Slice(list, func(i, j int) bool {
			return list[i].distance < list[j].distance || list[i].distance == list[j].distance && list[i].id < list[j].id
		})
		ids, distances := out.Row(p)
		for k := range min(rho, len(list)) {
			ids[k], distances[k] = list[k].id, float32(math.Sqrt(list[k].distance))
		}
	}
	return out
}

// sameNeighbours compares ids exactly and distances to a thousandth. With crowds, ids may differ where the
// distances are the same to a millionth.
func sameNeighbours(t *testing.T, name string, rows []float32, d int, got, want *Neighbours, crowds bool) {
	t.Helper()
	if got.N != want.N || got.Rho != want.Rho {
		t.Fatalf("%s: %d x %d neighbours, not %d x %d", name, got.N, got.Rho, want.N, want.Rho)
	}
	for i := range want.IDs {
		if p, g, w := i/want.Rho, int(got.IDs[i]), int(want.IDs[i]); g != w {
			if crowds && g >= 0 && w >= 0 {
				a, b := squaredExactly(rows[p*d:p*d+d], rows[g*d:g*d+d]), squaredExactly(rows[p*d:p*d+d], rows[w*d:w*d+d])
				if math.Abs(a-b) <= 1e-6*b {
					continue
				}
			}
			t.Fatalf(
				"%s: neighbour %d of row %d is %d at %g, not %d at %g",
				name,
				i%want.Rho,
				i/want.Rho,
				got.IDs[i],
				got.Distances[i],
				want.IDs[i],
				want.Distances[i],
			)
		}
		if g, w := float64(got.Distances[i]), float64(want.Distances[i]); g != w && !(math.Abs(g-w) <= 1e-3*w) {
			t.Fatalf("%s: distance %d of row %d is %g, not %g", name, i%want.Rho, i/want.Rho, g, w)
		}
	}
}

func uniform(n int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*random.Float32() - 1
	}
	return x
}

// hardRows returns hard data sets, each for its effect on |x|^2 + |y|^2 - 2xy.
func hardRows(kind string, n, d int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 2))
	x := uniform(n*d, seed)
	switch kind {
	case "uniform":
	case "identical":
		for i := range x {
			x[i] = x[i%d]
		}
	case "few distinct":
		for i := range n {
			copy(x[i*d:i*d+d], x[random.IntN(min(n, 3))*d:])
		}
	case "near duplicates":
		for i := range x {
			x[i] = x[i%d] + 1e-6*x[i]
		}
	case "far from the origin":
		for i := range x {
			x[i] += 1000 * float32(1+i%d)
		}
	case "two far clusters":
		for i := range x {
			x[i] += 1e6 * float32(1-2*(i/d%2))
		}
	case "far apart in scale":
		for i := range n {
			scale := float32(math.Pow(10, float64(random.IntN(41)-20)))
			for j := range d {
				x[i*d+j] *= scale
			}
		}
	case "tiny":
		for i := range x {
			x[i] *= 1e-20
		}
	case "huge":
		for i := range x {
			x[i] *= 1e20
		}
	case "integers":
		for i := range x {
			x[i] = float32(random.IntN(3))
		}
	case "one-hot":
		clear(x)
		for i := range n {
			x[i*d+i%d] = 1
		}
	case "one tiny column":
		for i := range x {
			x[i] *= 1e-25
			if i%d == 0 {
				x[i] = 1
			}
		}
	}
	return x
}

var hardKinds = []string{
	"uniform", "identical", "few distinct", "near duplicates", "far from the origin", "two far clusters", "far apart in scale",
	"tiny", "huge", "integers", "one-hot", "one tiny column",
}

func TestExactIsExact(t *testing.T) {
	var w Workspace
	for _, kind := range hardKinds {
		for _, size := range []struct{ n, d, rho int }{{1, 3, 2}, {2, 3, 2}, {3, 1, 2}, {5, 2, 9}, {40, 1, 5}, {100, 16, 5}, {241, 7, 3}, {300, 33, 20}, {500, 3, 4}} {
			rows := hardRows(kind, size.n, size.d, 3)
			name := fmt.Sprintf("%s %+v", kind, size)
			want := brute(rows, size.n, size.d, size.rho)
			got, err := w.Build(context.Background(), rows, size.n, size.d, Options{Rho: size.rho, Method: "exact"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sameNeighbours(t, name, rows, size.d, got, want, kind == "far apart in scale")
		}
	}
}

func TestExactIsTheSameWithEveryKernelAndAnyNumberOfWorkers(t *testing.T) {
	defer kernel.Use("auto")
	for _, kind := range hardKinds {
		n, d := 300, 19
		rows := hardRows(kind, n, d, 4)
		want := brute(rows, n, d, 6)
		for _, name := range kernel.Available() {
			if err := kernel.Use(name); err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 3} {
				got, err := Build(context.Background(), rows, n, d, Options{Rho: 6, Method: "exact", Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				sameNeighbours(t, fmt.Sprintf("%s, %s, %d workers", kind, name, workers), rows, d, got, want, kind == "far apart in scale")
			}
		}
	}
}

func TestSearchesInAUsedWorkspaceAllocateNothing(t *testing.T) {
	const n, d = 100, 32
	rows := uniform(n*d, 9)
	var w Workspace
	var a Affinity
	if allocations := testing.AllocsPerRun(10, func() {
		lists, err := w.Build(context.Background(), rows, n, d, Options{Rho: 5})
		if err != nil {
			t.Fatal(err)
		}
		lists.SymmetricInto(&a)
	}); allocations != 0 {
		t.Errorf("%g allocations", allocations)
	}
}
