package taught

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
)

// labelsOf returns labels with these examples, by their ids.
func labelsOf(examples map[string]Example) *Labels {
	l := &Labels{Stream: map[string][]Example{}}
	for _, id := range slices.Sorted(maps.Keys(examples)) {
		l.Stream["s"] = append(l.Stream["s"], examples[id])
	}
	return l
}

func alike(a, b *Entry) bool {
	return a.ID == b.ID && a.Label == b.Label && slices.Equal(a.Vector, b.Vector)
}

// TestLabelsThatFollowOthersFindTheSame: labels made by With find the same examples as labels made from the
// start, whatever was taught, corrected and forgotten in between.
func TestLabelsThatFollowOthersFindTheSame(t *testing.T) {
	const d, start, rounds = 8, 200, 100
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 5))
		embedding := func() []float32 {
			v := make([]float32, d)
			for i := range v {
				v[i] = float32(random.NormFloat64())
			}
			return v
		}
		examples := map[string]Example{}
		teach := func(id string) {
			examples[id] = Example{ID: id, Label: fmt.Sprint("class-", random.IntN(50)), Vector: embedding()}
		}
		for i := range start {
			teach(fmt.Sprint("e", i))
		}
		labels := labelsOf(examples)
		queries := [][]float32{embedding(), embedding()}
		var changed []string
		for round := range rounds {
			for range 1 + random.IntN(5) {
				id := fmt.Sprint("e", random.IntN(2*start))
				changed = append(changed, id)
				switch random.IntN(4) {
				case 0:
					delete(examples, id)
				case 1: // the same example again, in memory of its own
					if e, ok := examples[id]; ok {
						e.Vector = slices.Clone(e.Vector)
						examples[id] = e
					}
				default:
					teach(id)
				}
			}
			var changes []Change
			for _, id := range changed {
				e, ok := examples[id]
				e.ID = id
				changes = append(changes, Change{"s", e, !ok})
			}
			next := labels.With(Changes{Examples: changes})
			if random.IntN(3) == 0 {
				continue // one that was never used
			}
			changed, labels = nil, next
			got, want := labels.For("s").Own, labelsOf(examples).For("s").Own
			if got.Sum != want.Sum || !slices.EqualFunc(slices.Collect(got.All()), slices.Collect(want.All()), alike) {
				t.Fatalf("seed %d, round %d: other examples", seed, round)
			}
			for class := range 50 {
				label := fmt.Sprint("class-", class)
				a, b := slices.Collect(got.of(label)), slices.Collect(want.of(label))
				same := slices.EqualFunc(a, b, func(a, b *Entry) bool { return a.ID == b.ID })
				if got.Has(label) != (len(b) > 0) || !same {
					t.Fatalf("seed %d, round %d: %d examples of %s, not %d", seed, round, len(a), label, len(b))
				}
			}
			near, truly := got.nearest(queries, NearEach), want.nearest(queries, NearEach)
			for i := range queries {
				if !slices.EqualFunc(near[i], truly[i], func(a, b vector.Near[*Entry]) bool {
					return a.Node.ID == b.Node.ID && a.Distance == b.Distance
				}) {
					t.Fatalf("seed %d, round %d: %v near, truly %v", seed, round, near[i], truly[i])
				}
			}
		}
	}
}

// TestALabelCostsTheSameHoweverManyThereAre: the cost of one more label does not depend on the number of
// labels: its own content is read alone.
func TestALabelCostsTheSameHoweverManyThereAre(t *testing.T) {
	const more = 120
	random := rand.New(rand.NewPCG(1, 6))
	example := func(i int) Example {
		v := make([]float32, 4)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return Example{ID: fmt.Sprintf("e%06d", i), Label: fmt.Sprint("class-", i), Vector: v}
	}
	for _, n := range []int{5000, 20_000} {
		var list []Example
		for i := range n {
			list = append(list, example(i))
		}
		labels := &Labels{Stream: map[string][]Example{"s": list}}
		labels.prepare()
		hashed := 0
		for i := range more {
			changes := []Change{{Stream: "s", Example: example(n + i)}}
			if i%4 == 0 { // one of the others is corrected
				changes = append(changes, Change{Stream: "s", Example: example(random.IntN(n))})
			}
			labels = labels.With(Changes{Examples: changes})
			hashed += labels.For("s").Own.hashed
		}
		if changes := more + more/4; hashed != changes {
			t.Errorf("%d labels beside %d: %d looked at", changes, n, hashed)
		}
	}
}

// TestNearestAreTheNearest: the nearest examples are those that sorting all of them by their cosine
// gives, and examples without a direction or of another dimension are not among them.
func TestNearestAreTheNearest(t *testing.T) {
	const d, n = 24, 700
	random := rand.New(rand.NewPCG(1, 8))
	embedding := func() []float32 {
		v := make([]float32, d)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	list := []Example{
		{ID: "none", Label: "x", Vector: make([]float32, d)}, {ID: "other", Label: "x", Vector: []float32{1, 2}},
	}
	for i := range n {
		list = append(list, Example{ID: fmt.Sprintf("e%04d", i), Label: "x", Vector: embedding()})
	}
	cosine := func(a, b []float32) float64 {
		var ab, aa, bb float64
		for i := range a {
			ab, aa, bb = ab+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
		}
		return ab / math.Sqrt(aa*bb)
	}
	queries := [][]float32{embedding(), embedding(), embedding()}
	for q, near := range (&Labels{Everyone: list}).For("").Everyone.nearest(queries, NearEach) {
		truly := slices.Clone(list[2:])
		slices.SortFunc(truly, func(a, b Example) int {
			return cmp.Compare(cosine(b.Vector, queries[q]), cosine(a.Vector, queries[q]))
		})
		if len(near) != NearEach {
			t.Fatalf("%d near", len(near))
		}
		for i, f := range near {
			if f.Node.ID != truly[i].ID {
				t.Errorf("query %d: %s is %d., not %s", q, f.Node.ID, i, truly[i].ID)
			}
		}
	}
}

// TestAVersionOfTheLabelsIsSmall: a version of 100,000 labels takes memory for what it changed only: a few
// kilobytes, for examples for every stream and for single ones.
func TestAVersionOfTheLabelsIsSmall(t *testing.T) {
	const n, versions = 100_000, 300
	vector := []float32{1, 2}
	labels := &Labels{}
	var changes []Change
	for i := range n {
		e := Example{ID: fmt.Sprintf("e%06d", i), Label: fmt.Sprint(i % 1000), Vector: vector}
		changes = append(changes, Change{Stream: []string{"", fmt.Sprint("cam-", i%1000)}[i%2], Example: e})
	}
	labels = labels.With(Changes{Examples: changes})
	held := []*Labels{labels}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range versions {
		e := Example{ID: fmt.Sprint("new", i), Label: "new", Vector: []float32{1, float32(i)}}
		labels = labels.With(Changes{Examples: []Change{{Example: e}, {Stream: "cam-1", Example: e}}})
		held = append(held, labels)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / versions; each > 64<<10 {
		t.Errorf("a change takes %d bytes", each)
	}
	for i, l := range held {
		if l.Len() != n+2*i {
			t.Fatalf("version %d has %d examples", i, l.Len())
		}
	}
}
