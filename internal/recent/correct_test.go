package recent

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// partitionOf returns a partition that holds the items.
func partitionOf(items []Item, vectors [][]float32) *Partition {
	items = slices.Clone(items)
	p := New(1 << 20).Open("in/0")
	for i := range items {
		items[i].ID = "in/0/" + items[i].Name
		if items[i].Stream == "" {
			items[i].Stream = "door"
		}
	}
	p.Add(NewBlock(items, func(i int) []float32 { return vectors[i] }))
	return p
}

func names(list []Corrected) (out []string) {
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s: %s -> %s", c.Name, c.Was, c.Label))
	}
	slices.Sort(out)
	return out
}

func noExamples(func(Example) bool) {}

// correct applies a change to all items.
func (p *Partition) correct(c Change, examples Examples) (out []Corrected) {
	x := p.Correction(c)
	for more := true; more; {
		var next []Corrected
		next, more = x.Next(examples)
		out = append(out, next...)
	}
	return out
}

// A taught example corrects the items that have the same wrong answer as its own, and nothing else; corrected
// items follow their example from then on.
func TestCorrect(t *testing.T) {
	items := []Item{
		{Name: "asked", Label: "cup", Confidence: .5},
		{Name: "same", Label: "cup", Confidence: .5, Unknown: true},
		{Name: "sure", Label: "cup", Confidence: .95},
		{Name: "far", Label: "cup", Confidence: .5},
		{Name: "other", Label: "bag", Confidence: .5},
		{Name: "elsewhere", Label: "cup", Confidence: .5, Stream: "yard"},
		{Name: "taught", Label: "cup", Confidence: 1, Taught: true},
	}
	vectors := [][]float32{{1, .1}, {1, .2}, {1, .1}, {-1, .1}, {1, .1}, {1, .1}, {1, .1}}
	p := partitionOf(items, vectors)
	teach := Change{ID: "asked", Label: "mug", Stream: "door", Vector: vectors[0]}
	expect := func(got []Corrected, want ...string) {
		t.Helper()
		if !slices.Equal(names(got), want) {
			t.Errorf("%v, not %v", names(got), want)
		}
	}
	rival := slices.Values([]Example{{ID: "rival", Vector: []float32{3, .6}}})
	expect(p.correct(teach, rival), "asked: cup -> mug")
	p = partitionOf(items, vectors)
	expect(p.correct(teach, noExamples), "asked: cup -> mug", "same: cup -> mug")
	expect(p.correct(teach, noExamples))
	teach.Label = "jar"
	expect(p.correct(teach, noExamples), "asked: mug -> jar", "same: mug -> jar")
	back := p.correct(Change{ID: "asked"}, noExamples)
	expect(back, "asked: jar -> cup", "same: jar -> cup")
	if back[0].Confidence != .5 {
		t.Errorf("forgotten: %v", back[0])
	}
	known := Change{ID: "asked", Label: "mug", Vector: vectors[0], Knows: func(*Block) bool { return true }}
	if got := p.correct(known, noExamples); len(got) != 0 {
		t.Errorf("answered by the label already: %v", names(got))
	}
	if got := p.correct(Change{ID: "right", Label: "cup", Vector: vectors[0]}, noExamples); len(got) != 0 {
		t.Errorf("an example that nobody saw: %v", names(got))
	}
}

// An item that its own feed labelled is what a person calls it later, and again what its feed called it when that is
// taken back. Other items' examples leave it as it is.
func TestCorrectsWhatTheFeedLabelled(t *testing.T) {
	p := partitionOf([]Item{
		{Name: "stream:door/7", Label: "cup", Confidence: 1, Taught: true, Track: "3"},
		{Name: "8", Label: "cup", Confidence: .5, Track: "3"},
	}, [][]float32{{1, .1}, {1, .2}})
	expect := func(c Change, want ...string) {
		t.Helper()
		if got := names(p.correct(c, noExamples)); !slices.Equal(got, want) {
			t.Errorf("%v, not %v", got, want)
		}
	}
	expect(Change{ID: "8", Label: "jug", Vector: []float32{1, .2}}, "8: cup -> jug")
	expect(Change{ID: "stream:door/7", Label: "mug", Stream: "door", Vector: []float32{1, .1}}, "stream:door/7: cup -> mug")
	expect(Change{ID: "8", Label: "jar", Vector: []float32{1, .2}}, "8: jug -> jar")
	expect(Change{ID: "stream:door/7"}, "stream:door/7: mug -> cup")
	for key, label := range map[string]string{"in/0/stream:door/7": "jar", "item:in/0/stream:door/7": "pot"} {
		expect(Change{ID: key, Label: label, Vector: []float32{1, .1}}, "stream:door/7: cup -> "+label)
		expect(Change{ID: key}, "stream:door/7: "+label+" -> cup")
	}
}

// A track is corrected as a whole, whatever its vectors and however confident its answers.
func TestCorrectTracks(t *testing.T) {
	p := partitionOf([]Item{
		{Name: "a", Track: "7", Label: "cup", Confidence: .99},
		{Name: "b", Track: "7", Label: "bag", Confidence: .99},
		{Name: "c", Track: "8", Label: "bag"},
		{Name: "d", Track: "7", Label: "cup", Stream: "yard", Confidence: .99},
	}, [][]float32{{1, 0}, {-1, 0}, {1, 0}, {1, 0}})
	got := names(p.correct(Change{ID: "a", Label: "mug", Vector: []float32{1, 0}}, noExamples))
	if !slices.Equal(got, []string{"a: cup -> mug", "b: bag -> mug"}) {
		t.Errorf("%v", got)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		x       []float32
		squared float64
		want    bool
	}{
		{[]float32{5, 0}, 0, true},
		{[]float32{0, 5}, 2.01, true},
		{[]float32{0, 5}, 1.9, false},
		{[]float32{-1, 0}, 3.9, false},
		{[]float32{-1, 0}, 4, true},
		{[]float32{-1, .1}, 3.995, true},
	} {
		square := float64(c.x[0]*c.x[0] + c.x[1]*c.x[1])
		if got := within(float64(c.x[0]), square, c.squared); got != c.want {
			t.Errorf("%v within %g: %t", c.x, c.squared, got)
		}
	}
}

// Names rename all items of a class, also through other names, and deleting one restores the previous names.
// Labels of examples are renamed too.
func TestRename(t *testing.T) {
	p := partitionOf([]Item{
		{Name: "a", Label: "cup", Confidence: .5},
		{Name: "b", Label: "bag"},
		{Name: "c", Label: "cup", Taught: true},
		{Name: "d", Label: "cup", Stream: "yard"},
	}, [][]float32{{1, 0}, {0, 1}, {1, 0}, {1, 0}})
	into := map[string]string{}
	named := func(stream, class string) string {
		for into[stream+class] != "" {
			class = into[stream+class]
		}
		return class
	}
	expect := func(got []Corrected, want ...string) {
		t.Helper()
		if !slices.Equal(names(got), want) {
			t.Errorf("%v, not %v", names(got), want)
		}
	}
	into["doorcup"] = "mug"
	expect(p.Rename(named), "a: cup -> mug", "c: cup -> mug")
	expect(p.Rename(named))
	into["doormug"] = "jar"
	expect(p.Rename(named), "a: mug -> jar", "c: mug -> jar")
	teach := Change{ID: "b", Label: "cup", Vector: []float32{0, 1}, Named: named}
	expect(p.correct(teach, noExamples), "b: bag -> jar")
	delete(into, "doorcup")
	expect(p.Rename(named), "a: jar -> cup", "b: jar -> cup", "c: jar -> cup")
	expect(p.correct(Change{ID: "b", Named: named}, noExamples), "b: cup -> bag")
}

// An item that was answered under a name has its class, and goes back to that when the name is taken back,
// and when a label that corrected it is. What it shares with others is what they are called.
func TestItemsAnsweredUnderAName(t *testing.T) {
	p := partitionOf([]Item{
		{Name: "a", Label: "anna", Class: "cluster-3", Confidence: .5},
		{Name: "b", Label: "anna", Class: "cluster-4", Confidence: .5},
		{Name: "c", Label: "cluster-5", Confidence: .5},
	}, [][]float32{{1, .1}, {1, .2}, {1, .1}})
	into := map[string]string{"cluster-3": "anna", "cluster-4": "anna"}
	named := func(_, class string) string { return cmp.Or(into[class], class) }
	expect := func(got []Corrected, want ...string) {
		t.Helper()
		if !slices.Equal(names(got), want) {
			t.Errorf("%v, not %v", names(got), want)
		}
	}
	right := Change{ID: "a", Label: "anna", Vector: []float32{1, .1}, Named: named}
	expect(p.correct(right, noExamples))
	expect(p.correct(Change{ID: "a", Named: named}, noExamples))
	wrong := Change{ID: "a", Label: "mug", Vector: []float32{1, .1}, Named: named}
	expect(p.correct(wrong, noExamples), "a: anna -> mug", "b: anna -> mug")
	delete(into, "cluster-3")
	expect(p.Rename(named))
	expect(p.correct(Change{ID: "a", Named: named}, noExamples), "a: mug -> cluster-3", "b: mug -> anna")
	delete(into, "cluster-4")
	expect(p.Rename(named), "b: anna -> cluster-4")
}

// Forgotten items are no longer found, and the others do not change, even in the same episode.
func TestForget(t *testing.T) {
	p := partitionOf([]Item{
		{Name: "a", Label: "cup", Confidence: .5, Attributes: []byte(`{"image":"of a cup"}`)},
		{Name: "b", Label: "bag"},
		{Name: "c", Label: "cup", Stream: "yard"},
	}, [][]float32{{1, 0}, {0, 1}, {1, 0}})
	before := p.store.Bytes()
	cup := func(_ *Block, stream string, classes ...string) bool {
		return slices.Contains(classes, "cup") && stream == "door"
	}
	if got := names(p.Forget(cup)); !slices.Equal(got, []string{"a: cup -> "}) {
		t.Errorf("%v", got)
	}
	if _, found := p.store.Find("a")["a"]; found || p.store.Bytes() >= before {
		t.Errorf("found %t, %d bytes of %d", found, p.store.Bytes(), before)
	}
	for _, m := range p.store.Similar(Query{Vector: []float32{1, 0}, Count: 3}) {
		if m.Name == "a" || m.Name == "b" && m.Distance < 1.9 {
			t.Errorf("%+v", m)
		}
	}
	if got := p.Forget(cup); len(got) > 0 {
		t.Errorf("again: %v", names(got))
	}
	p.Forget(func(*Block, string, ...string) bool { return true })
	if p.store.Bytes() != 0 || len(p.Blocks()) > 0 {
		t.Errorf("%d bytes, %d blocks", p.store.Bytes(), len(p.Blocks()))
	}
}

// Items are compared with the examples in groups, and few at a time, so that a label among very many holds up
// its partition only shortly. The answers are those of one comparison after the other.
func TestItemsAreComparedTogether(t *testing.T) {
	const d, n, labels = 6, 300, 400
	random := rand.New(rand.NewPCG(2, 2))
	draw := func() []float32 {
		x := make([]float32, d)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	some := func(of string) string { return []string{"", of, "other"}[random.IntN(3)] }
	items, vectors := make([]Item, n), make([][]float32, n)
	for i := range items {
		items[i] = Item{Name: fmt.Sprint("item ", i), Label: "cup", Confidence: .5, Model: some("m")}
		vectors[i] = draw()
		for j, v := range vectors[0] { // more like the one that is taught
			vectors[i][j] += v
		}
	}
	teach := Change{ID: items[0].Name, Label: "mug", Vector: vectors[0]}
	examples := make([]Example, labels)
	for i := range examples {
		examples[i] = Example{ID: fmt.Sprint(i), Stream: some("door"), Model: some("m"), Vector: draw()}
	}
	examples[7] = Example{ID: teach.ID, Vector: teach.Vector} // it does not stand against itself
	examples[8].Vector = []float32{1}

	p := partitionOf(items, vectors)
	want := []string{"item 0: cup -> mug"}
	example, _ := unit(teach.Vector)
	row := make([]float32, d)
	for i := 1; i < n; i++ {
		b := p.blocks[0]
		b.decode(row, i)
		apart, rivalled := 2-2*float64(kernel.Dot(example, row)), false
		for _, e := range examples {
			if len(e.Vector) == d && e.ID != teach.ID && (e.Stream == "" || e.Stream == "door") &&
				(e.Model == "" || e.Model == b.text(i, ofModel)) {
				product, square := float64(kernel.Dot(row, e.Vector)), float64(kernel.Dot(e.Vector, e.Vector))
				rivalled = rivalled || within(product, square, apart/Nearer)
			}
		}
		if apart < 2 && !rivalled {
			want = append(want, items[i].Name+": cup -> mug")
		}
	}
	slices.Sort(want)
	would, err := p.store.WouldCorrect(t.Context(), []Change{teach, teach}, slices.Values(examples))
	if !slices.Equal(names(would), want) || err != nil {
		t.Errorf("a preview: %d items, %v, not %d", len(would), err, len(want))
	}
	var got []Corrected
	c := p.Correction(teach)
	for passes, more := 0, true; more; passes++ {
		read := 0
		var next []Corrected
		next, more = c.Next(func(yield func(Example) bool) {
			for _, e := range examples {
				if read++; !yield(e) {
					return
				}
			}
		})
		if got = append(got, next...); read > labels || passes > n/together+1 {
			t.Fatalf("step %d: %d examples read", passes, read)
		}
	}
	if !slices.Equal(names(got), want) || len(want) < 20 || len(want) > n-20 {
		t.Errorf("%d items, not %d", len(got), len(want))
	}
}
