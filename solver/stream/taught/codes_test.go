package taught

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// TestCodesChangeNoAnswer: with codes the nearest examples, and their distances, are those of comparing every vector,
// among examples alike, with few large numbers, very small and very large; and codes leave most examples out.
func TestCodesChangeNoAnswer(t *testing.T) {
	defer kernel.Use("auto")
	versions := kernel.Available()
	for seed := range uint64(40) {
		if err := kernel.Use(versions[seed%uint64(len(versions))]); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 9))
		d := 1 + random.IntN(200)
		centres := make([][]float32, 5)
		draw := func(spread float64) []float32 {
			v := make([]float32, d)
			centre := centres[random.IntN(len(centres))]
			size := math.Pow(10, []float64{0, 0, 0, -14, 14, -25, -37, 17}[random.IntN(8)])
			for j := range v {
				x := spread * random.NormFloat64()
				if centre != nil {
					x += float64(centre[j])
				}
				v[j] = float32(size * x)
			}
			if random.IntN(10) == 0 {
				v[random.IntN(d)] *= 100
			}
			return v
		}
		for c := range centres {
			centres[c] = draw(1)
		}
		var list []Example
		for i := range 3000 {
			e := Example{ID: fmt.Sprintf("e%04d", i), Label: "x", Vector: draw([]float64{0, 1e-6, .1, 1}[random.IntN(4)])}
			if i > 0 && random.IntN(10) == 0 {
				e.Vector = slices.Clone(list[random.IntN(i)].Vector)
			}
			list = append(list, e)
		}
		queries := make([][]float32, 1+random.IntN(3))
		for i := range queries {
			queries[i] = draw(1)
		}
		if seed == 0 {
			clear(queries[0])
		}
		plain, coded := (&Labels{Everyone: list}).For("").Everyone, (&Labels{Everyone: list}).For("").Everyone
		for e := range coded.All() {
			e.encode()
		}
		want := plain.nearest(queries, NearEach)
		for i, near := range coded.nearest(queries, NearEach) {
			if !slices.EqualFunc(near, want[i], func(a, b vector.Near[*Entry]) bool {
				return a.Node.ID == b.Node.ID && math.Float32bits(a.Distance) == math.Float32bits(b.Distance)
			}) {
				t.Errorf("seed %d, query %d: %v, not %v", seed, i, near, want[i])
			}
		}
	}
}

// TestLargeSetsAreCoded: a set that no episode gets whole has codes for what is taught from then on, which leave most
// of its examples out; a small one takes no memory for them.
func TestLargeSetsAreCoded(t *testing.T) {
	const d = 64
	random := rand.New(rand.NewPCG(1, 10))
	draw := func() []float32 {
		v := make([]float32, d)
		for j := range v {
			v[j] = float32(random.NormFloat64())
		}
		return v
	}
	var changes []Change
	for i := range WholeMost + 1000 {
		changes = append(changes, Change{Example: Example{ID: fmt.Sprintf("e%05d", i), Label: "x", Vector: draw()}})
	}
	small := (&Labels{}).With(Changes{Examples: changes[:WholeMost]}).For("").Everyone
	for e := range small.All() {
		if e.code.bytes != nil {
			t.Fatalf("%s of a small set has a code", e.ID)
		}
	}
	large := (&Labels{}).With(Changes{Examples: changes}).For("").Everyone
	queries := [][]float32{draw()}
	vector.Unit(queries[0], queries[0])
	near := large.nearest(queries, NearEach)
	asked, read := []query{ask(queries[0])}, 0
	for e := range large.All() {
		if !e.allFarther(asked, near, NearEach) {
			read++
		}
	}
	if read < NearEach || read > 3*NearEach {
		t.Errorf("%d of %d vectors are read for the nearest %d", read, large.Len(), NearEach)
	}
}

// TestCodesBoundProducts: an example is never said to be farther than it is, whichever of the two, or neither, is
// rounded.
func TestCodesBoundProducts(t *testing.T) {
	const d = 96
	random := rand.New(rand.NewPCG(1, 11))
	vectors := map[string]func() []float32{
		"numbers": func() []float32 {
			v := make([]float32, d)
			for j := range v {
				v[j] = float32(random.NormFloat64())
			}
			return v
		},
		"whole numbers": func() []float32 {
			v := make([]float32, d)
			for j := range v {
				v[j] = float32(random.IntN(255) - 127)
			}
			v[0] = 127
			return v
		},
		"signs": func() []float32 {
			v := make([]float32, d)
			for j := range v {
				v[j] = float32(2*random.IntN(2) - 1)
			}
			return v
		},
	}
	for of, query := range vectors {
		for beside, example := range vectors {
			for range 300 {
				set := Empty.With([]Change{{Example: Example{ID: "x", Vector: example()}}})
				x := set.Find("x")
				x.encode()
				unit := query()
				vector.Unit(unit, unit)
				q := ask(unit)
				distance := -kernel.Dot(unit, x.Vector) * x.inverse
				if q.farther(&x.code, math.Nextafter32(distance, 2)) {
					t.Fatalf("%s beside %s: farther than %v", of, beside, distance)
				}
				if !q.farther(&x.code, distance-.05) {
					t.Fatalf("%s beside %s: not farther than %v less .05", of, beside, distance)
				}
			}
		}
	}
}
