package stream

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// named returns the labels with names in force.
func named(t *testing.T, l *taught.Labels, list ...taught.Name) *taught.Labels {
	t.Helper()
	names, faults := taught.NewNames(list)
	for _, fault := range faults {
		if fault != nil {
			t.Fatal(fault)
		}
	}
	return l.With(taught.Changes{Names: names})
}

func reject(l *taught.Labels, list ...taught.Rejection) *taught.Labels {
	rejections, _ := taught.NewRejections(list)
	return l.With(taught.Changes{Rejections: rejections})
}

// TestNamesChangeAnswersAndNothingElse: a merged class is answered with its new name, as the label and as an
// alternative. What the stream learns does not depend on names: once the name is removed, it answers as if
// the name had never been given.
func TestNamesChangeAnswersAndNothingElse(t *testing.T) {
	f := newCamera(21, 4, 16, .6)
	labels := f.labels(2)
	merged := named(t, labels, taught.Name{Name: label(0), Into: "both"}, taught.Name{Name: label(1), Into: "both"},
		taught.Name{Stream: "cam", Name: label(2), Into: "two"})
	plain, renamed := New("cam", settings(t)), New("cam", settings(t))
	e := new(Engine)
	called := map[string]string{label(0): "both", label(1): "both", label(2): "two", label(3): label(3)}
	for i := range 12 {
		items, _ := f.episode(40, .05)
		with := merged
		if i >= 9 {
			with = labels
		}
		want, _ := answer(t, plain, e, items, labels)
		got, _ := answer(t, renamed, e, items, with)
		if i >= 9 && !reflect.DeepEqual(got, want) {
			t.Fatalf("episode %d: the answers are not those of before", i)
		}
		for j := range got {
			if i < 9 && (got[j].Label != called[want[j].Label] || called[got[j].Class] != got[j].Label) {
				t.Errorf("episode %d, item %d: %s, class %s, without names %s", i, j, got[j].Label, got[j].Class,
					want[j].Label)
			}
			if want[j].Class != want[j].Label {
				t.Errorf("episode %d, item %d: class %s of %s without names", i, j, want[j].Class, want[j].Label)
			}
			for _, a := range got[j].Alternatives {
				if a.Label == got[j].Label {
					t.Errorf("episode %d, item %d: %s is its own alternative", i, j, a.Label)
				}
			}
		}
		if a, b := plain.State(), renamed.State(); !slices.EqualFunc(a, b, func(x, y Piece) bool {
			return x.Name == y.Name && slices.Equal(x.Bytes, y.Bytes)
		}) {
			t.Fatalf("episode %d: the streams learned otherwise", i)
		}
	}
}

// TestNamedClustersKeepTheirNames: a cluster keeps its given name over a restart, and loses it when the name
// is removed. Two clusters of one name stay two, so that the name can be removed.
func TestNamedClustersKeepTheirNames(t *testing.T) {
	for _, c := range []struct {
		names  []taught.Name
		called [2]string
	}{
		{nil, [2]string{"cluster-1", "cluster-2"}},
		{[]taught.Name{{Name: "cluster-1", Into: "anna"}}, [2]string{"anna", "cluster-2"}},
		{[]taught.Name{{Name: "cluster-2", Into: "ben"}}, [2]string{"cluster-1", "ben"}},
		{[]taught.Name{{Name: "cluster-1", Into: "anna"}, {Name: "cluster-2", Into: "anna"}}, [2]string{"anna", "anna"}},
	} {
		labels, none := named(t, &taught.Labels{}, c.names...).For("cam"), (*taught.Labels)(nil).For("cam")
		s := New("cam", settings(t))
		answer(t, s, new(Engine), []Item{{Vector: []float32{1, 0, 0}}, {Vector: []float32{0, 1, 0}}, {Vector: []float32{0, 0, 1}}}, nil)
		restored, err := Restore(settings(t), s.State())
		if err != nil {
			t.Fatal(err)
		}
		for i, of := range []string{"cluster-1", "cluster-2"} {
			label := restored.Clusters()[i+1].Label
			if called, undone := labels.Called(label), none.Called(label); called != c.called[i] || undone != of {
				t.Errorf("%v: %s is called %s, and %s when the names are undone", c.names, of, called, undone)
			}
		}
	}
}

// TestRejections: an item near a rejected vector is not answered with the class. No other answer changes, R
// still falls, and without the rejection the answers are the earlier ones. The track of the item is
// rejected with it.
func TestRejections(t *testing.T) {
	f := newCamera(22, 4, 16, .6)
	labels := f.labels(3)
	e := new(Engine)
	answer := func(l *taught.Labels, items []Item) []Answer {
		answers, _ := answer(t, New("cam", settings(t)), e, items, l)
		return answers
	}
	items, _ := f.episode(40, 0)
	before := answer(labels, items)
	x := taught.Rejection{ID: items[0].ID, Stream: "cam", Not: []string{before[0].Label}, Vector: items[0].Vector}
	after := answer(reject(labels, x), items)
	if after[0].Label == before[0].Label {
		t.Errorf("still %s", after[0].Label)
	}
	changed := 0
	for i := range after[1:] {
		if after[1+i].Label != before[1+i].Label {
			changed++
			if before[1+i].Label != x.Not[0] {
				t.Errorf("item %d was %s and is %s", i+1, before[1+i].Label, after[1+i].Label)
			}
		}
	}
	if changed > len(items)/4 {
		t.Errorf("%d others changed", changed)
	}
	for what, l := range map[string]*taught.Labels{
		"taken back":           reject(reject(labels, x)),
		"of another stream":    reject(labels, taught.Rejection{Stream: "other", Not: x.Not, Vector: x.Vector}),
		"of another model":     reject(labels, taught.Rejection{Model: "m", Not: x.Not, Vector: x.Vector}),
		"of an unknown class":  reject(labels, taught.Rejection{Not: []string{"nobody knows"}, Vector: x.Vector}),
		"of another dimension": reject(labels, taught.Rejection{Not: x.Not, Vector: []float32{1}}),
	} {
		if got := answer(l, items); !reflect.DeepEqual(got, before) {
			t.Errorf("%s: other answers", what)
		}
	}
	// A merged class is rejected by the name that users see.
	merged := named(t, labels, taught.Name{Name: before[0].Label, Into: "seen"})
	x.Not = []string{"seen"}
	if got := answer(reject(merged, x), items); got[0].Label == "seen" {
		t.Error("the name that people see cannot be rejected")
	}
	// The track is rejected with its item.
	x.Not, x.Track = []string{before[0].Label}, "7"
	tracked := slices.Clone(items)
	for i := range tracked {
		if before[i].Label == x.Not[0] {
			tracked[i].Track = "7"
		}
	}
	for i, a := range answer(reject(labels, x), tracked) {
		if tracked[i].Track == "7" && a.Label == x.Not[0] {
			t.Errorf("item %d of the track is still %s", i, a.Label)
		}
	}
}

// TestHistoriesOfNames: in any order of teaching, rejecting, naming, splitting, undoing and restarting,
// nothing automatic merges or renames classes that were named. When all is undone, the answers are those of a
// stream that got only the examples.
func TestHistoriesOfNames(t *testing.T) {
	histories := uint64(300)
	if n, err := strconv.ParseUint(os.Getenv("SLKSTREAM_HISTORIES"), 10, 64); err == nil {
		histories = n
	}
	e := new(Engine)
	for seed := range histories {
		random := rand.New(rand.NewPCG(seed, 9))
		const classes = 4
		f := newCamera(seed, classes, 8, .5)
		base := f.labels(1 + random.IntN(2))
		labels := base
		s, control := New("cam", settings(t)), New("cam", settings(t))
		examples := base
		var names []taught.Name
		var rejections []taught.Rejection
		ids := map[string]bool{}
		class := func() string { return label(random.IntN(classes)) }
		check := func(step int, undone bool) {
			items, _ := f.episode(12, 0)
			got, report := answer(t, s, e, items, labels)
			want, _ := answer(t, control, e, items, examples)
			for _, e := range report.Events {
				if e.Kind == "merged" || e.Kind == "named" {
					t.Fatalf("seed %d, step %d: %+v", seed, step, e)
				}
			}
			in := labels.For("cam")
			for i := range got {
				if len(rejections) == 0 && got[i].Label != in.Called(want[i].Label) {
					merged := in.Rename(s.classes.names()) != nil
					if !merged || undone {
						t.Fatalf("seed %d, step %d: %s, not %s", seed, step, got[i].Label, in.Called(want[i].Label))
					}
				}
				if called := in.Called(got[i].Class); called != got[i].Label {
					t.Fatalf("seed %d, step %d: answered %s, but class %s is called %s", seed, step, got[i].Label,
						got[i].Class, called)
				}
				if called := in.Called(got[i].Label); called != got[i].Label {
					t.Fatalf("seed %d, step %d: answered %s, which is called %s", seed, step, got[i].Label, called)
				}
			}
		}
		set := func() {
			feed, _ := taught.NewNames(names)
			against, _ := taught.NewRejections(rejections)
			labels = examples.With(taught.Changes{Names: feed, Rejections: against})
		}
		for step := range 6 + random.IntN(8) {
			switch random.IntN(7) {
			case 0: // teach, or split a class by teaching an example under another name
				id := fmt.Sprintf("s%d-0", random.IntN(classes))
				if random.IntN(2) == 0 {
					id = fmt.Sprint("new-", random.IntN(3))
				}
				c := random.IntN(classes)
				ids[id] = true
				examples = examples.With(taught.Changes{Examples: []taught.Change{{Stream: "cam", Example: taught.Example{
					ID: id, Label: label(c), Vector: f.vector(c),
				}}}})
			case 1:
				items, _ := f.episode(1, 0)
				rejections = append(rejections, taught.Rejection{
					ID: "r", Stream: "cam", Not: []string{class()}, Vector: items[0].Vector,
				})
			case 2, 3:
				in, into := []string{"", "cam", "other"}, []string{class(), "new", "newer"}
				n := taught.Name{Stream: in[random.IntN(3)], Name: class(), Into: into[random.IntN(3)]}
				if n.Name != n.Into {
					names = append(names, n)
				}
			case 4:
				if len(names) > 0 {
					at := random.IntN(len(names))
					names = slices.Delete(slices.Clone(names), at, at+1)
				}
			case 5:
				if len(rejections) > 0 {
					rejections = rejections[:len(rejections)-1]
				}
			case 6:
				restored, err := Restore(settings(t), s.State())
				if err != nil {
					t.Fatal(err)
				}
				s = restored
			}
			rejected := len(rejections) > 0
			set()
			if check(step, false); rejected { // different answers were learned from
				control, _ = Restore(settings(t), s.State())
			}
		}
		var undo []taught.Change
		for id := range ids {
			undo = append(undo, taught.Change{Stream: "cam", Example: taught.Example{ID: id}, Out: true})
		}
		slices.SortFunc(undo, func(a, b taught.Change) int { return cmp.Compare(a.Example.ID, b.Example.ID) })
		examples = examples.With(taught.Changes{Examples: undo})
		names, rejections = nil, nil
		set()
		check(-1, true)
	}
}

// unusedNames does what names, rejections and sure answers add to an episode, where nobody uses them.
func unusedNames(s *Stream, p *problem, items []Item) bool {
	return p.contradict(s, items) != nil || p.taught.Rename(p.names) != nil ||
		s.calibration.sureLimits(p.taught, s.settings.MaxWrong) != nil
}

// TestUnusedNamesCostNothing: where nobody uses names, rejections or sure answers, they take no memory, nor
// bytes of the state.
func TestUnusedNamesCostNothing(t *testing.T) {
	set := settings(t)
	f := newCamera(3, 10, 32, .5)
	items, _ := f.episode(50, .1)
	bare := f.labels(5)
	names, _ := taught.NewNames(nil)
	none, _ := taught.NewRejections(nil)
	labels := bare.With(taught.Changes{Names: names, Rejections: none})
	s, other, e := New("cam", set), New("cam", set), new(Engine)
	answer(t, other, e, items, bare)
	answer(t, s, e, items, labels)
	if n := testing.AllocsPerRun(100, func() {
		if unusedNames(s, &e.problem, items) {
			t.Error("somebody uses them")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	for i, piece := range s.State() {
		if want := other.State()[i]; piece.Name != want.Name || !slices.Equal(piece.Bytes, want.Bytes) {
			t.Errorf("piece %s has %d bytes, not %d", piece.Name, len(piece.Bytes), len(want.Bytes))
		}
	}
}

// BenchmarkUnusedNames measures what these cost an episode, to compare with BenchmarkAnswer.
func BenchmarkUnusedNames(b *testing.B) {
	f := newCamera(1, 10, 512, 1.5)
	s, e, labels := New("cam", settings(b)), new(Engine), f.labels(5)
	items, _ := f.episode(100, 0)
	answer(b, s, e, items, labels)
	b.ReportAllocs()
	for b.Loop() {
		for range items { // first answers, each by itself
			unusedNames(s, &e.problem, items)
		}
	}
}
