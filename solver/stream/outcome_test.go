package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

func noted(report Report, part string) bool {
	return slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, part) })
}

func happened(report Report, kind, class string) bool {
	return slices.ContainsFunc(report.Events, func(e Event) bool { return e.Kind == kind && e.Class == class })
}

// sound fails the test for an answer with invalid values.
func sound(t *testing.T, answers []Answer) {
	t.Helper()
	for i, a := range answers {
		for _, v := range []float64{a.Confidence, a.UnknownScore} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("answer %d: %+v", i, a)
			}
		}
		if a.Label == "" || a.Confidence > 1 {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
}

func TestRefusedItems(t *testing.T) {
	set := settings(t)
	f := newCamera(1, 3, 8, 1)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	items, _ := f.episode(10, 0)
	answer(t, s, e, items, labels)
	state := s.State()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, change := range map[string]func([]Item) []Item{
		"no item":             func([]Item) []Item { return nil },
		"another dimension":   func(items []Item) []Item { items[2].Vector = items[2].Vector[:7]; return items },
		"all of another":      func(items []Item) []Item { return []Item{{Vector: []float32{1, 2}}} },
		"NaN":                 func(items []Item) []Item { items[1].Vector[3] = nan; return items },
		"Inf":                 func(items []Item) []Item { items[1].Vector[3] = inf; return items },
		"zero vector":         func(items []Item) []Item { clear(items[0].Vector); return items },
		"two models":          func(items []Item) []Item { items[4].Model = "other"; return items },
		"without a dimension": func(items []Item) []Item { items[0].Vector = nil; return items },
	} {
		items, _ := f.episode(10, 0)
		if _, _, err := s.Answer(context.Background(), e, change(items), labels); !errors.Is(err, ErrItem) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again := s.State(); !reflect.DeepEqual(again, state) {
		t.Errorf("a refused episode changed the state")
	}
	other, err := Restore(set, state)
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	items, _ = f.episode(10, .2)
	if _, _, err := s.Answer(cancelled, e, items, labels); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	got, _ := answer(t, s, e, items, labels)
	want, _ := answer(t, other, e, items, labels)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(s.State(), other.State()) {
		t.Errorf("a cancelled episode left something behind")
	}
}

// TestContradictingLabels: two examples with one vector and two labels: one of the two labels is the answer,
// and other classes are not affected.
func TestContradictingLabels(t *testing.T) {
	set := settings(t)
	f := newCamera(2, 4, 16, .3)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	labels.Everyone = append(labels.Everyone, taught.Example{ID: "lie", Label: label(1), Vector: labels.Everyone[0].Vector})
	for range 4 {
		items, truth := f.episode(20, 0)
		answers, _ := answer(t, s, e, items, labels)
		sound(t, answers)
		for i, a := range answers {
			if truth[i] != a.Label && truth[i] != label(0) && truth[i] != label(1) {
				t.Errorf("%s answered %s", truth[i], a.Label)
			}
		}
	}
}

func TestOneClassOnly(t *testing.T) {
	for _, shots := range []int{1, 4} {
		set := settings(t)
		f := newCamera(3, 1, 16, 1)
		s, e := New("cam", set), new(Engine)
		for range 3 {
			items, _ := f.episode(12, .1)
			answers, _ := answer(t, s, e, items, f.labels(shots))
			sound(t, answers)
			for _, a := range answers {
				if a.Label != label(0) {
					t.Errorf("answered %s", a.Label)
				}
			}
		}
	}
}

func TestEpisodeOfOneItem(t *testing.T) {
	set := settings(t)
	f := newCamera(4, 3, 16, .3)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(2)
	for range 30 {
		items, truth := f.episode(1, .2)
		answers, _ := answer(t, s, e, items, labels)
		sound(t, answers)
		if answers[0].Label != truth[0] {
			t.Errorf("%s answered %s", truth[0], answers[0].Label)
		}
	}
	if _, err := Restore(set, s.State()); err != nil {
		t.Error(err)
	}
}

// TestClassesComeAndGo: a new class starts with its first example, from the feed or the topic, and a class
// whose examples are all withdrawn ends.
func TestClassesComeAndGo(t *testing.T) {
	set := settings(t)
	f := newCamera(5, 4, 16, .3)
	s, e := New("cam", set), new(Engine)
	three := f.labels(2)
	three.Everyone = slices.DeleteFunc(three.Everyone, func(e taught.Example) bool { return e.Label == label(3) })
	items, _ := f.episode(20, 0)
	answer(t, s, e, items, three)
	of := func(class int) []Item {
		items, _ := f.episode(10, 0)
		for i := range items {
			items[i].Vector = f.vector(class)
		}
		return items
	}
	items = of(3)
	items[0].Label = label(3)
	_, report := answer(t, s, e, items, three)
	if !happened(report, "born", label(3)) {
		t.Errorf("events %+v", report.Events)
	}
	right := 0
	answers, report := answer(t, s, e, of(3), three)
	for _, a := range answers {
		if a.Label == label(3) {
			right++
		}
	}
	if right < 9 {
		t.Errorf("%d of 10 of the new class after one example", right)
	}
	forgets := &taught.Labels{Everyone: three.Everyone, Forgotten: []string{items[0].ID}}
	answers, report = answer(t, s, e, of(3), forgets)
	if !happened(report, "retired", label(3)) {
		t.Errorf("events %+v", report.Events)
	}
	for _, a := range answers {
		if a.Label == label(3) {
			t.Errorf("a class without an example is answered")
		}
	}
}

// TestRenameAndMerge: relabelling every example of a class renames the class; giving them another class's
// label merges the two.
func TestRenameAndMerge(t *testing.T) {
	set := settings(t)
	f := newCamera(6, 3, 16, .3)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(2)
	items, _ := f.episode(20, .2)
	answer(t, s, e, items, labels)
	relabel := func(from, to string) *taught.Labels {
		l := &taught.Labels{}
		for _, e := range labels.Everyone {
			if e.Label == from {
				e.Label = to
			}
			l.Everyone = append(l.Everyone, e)
		}
		for _, item := range items { // examples of the feed are corrected by their ids
			if item.Label == from {
				l.Everyone = append(l.Everyone, taught.Example{ID: item.ID, Label: to, Vector: item.Vector})
			}
		}
		return l
	}
	for _, to := range []string{"renamed", label(1)} {
		again, truth := f.episode(20, 0)
		answers, report := answer(t, s, e, again, relabel(label(0), to))
		for i, a := range answers {
			want := truth[i]
			if want == label(0) {
				want = to
			}
			if a.Label != want {
				t.Errorf("to %s: %s, not %s", to, a.Label, want)
			}
		}
		if to == "renamed" && !happened(report, "retired", label(0)) {
			t.Errorf("events %+v", report.Events)
		}
	}
}

func TestModelChange(t *testing.T) {
	set := settings(t)
	f, g := newCamera(7, 3, 16, .3), newCamera(8, 3, 24, .3)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(2)
	for i := range labels.Everyone {
		labels.Everyone[i].Model = "old"
	}
	fresh := g.labels(2)
	for i := range fresh.Everyone {
		fresh.Everyone[i].Model, fresh.Everyone[i].ID = "new", "n"+fresh.Everyone[i].ID
	}
	labels = &taught.Labels{Everyone: append(labels.Everyone, fresh.Everyone...)}
	say := func(f *camera, model string) ([]Item, []string) {
		items, truth := f.episode(20, .1)
		for i := range items {
			items[i].Model = model
		}
		return items, truth
	}
	items, _ := say(f, "old")
	answer(t, s, e, items, labels)
	g.offset = f.offset
	items, truth := say(g, "new")
	answers, report := answer(t, s, e, items, labels)
	if !noted(report, `the model changed from "old" to "new"`) || !noted(report, "6 labelled examples are of another model") {
		t.Errorf("notes %q", report.Notes)
	}
	if report.Episode != 2 || s.Dimension() != 24 || s.model != "new" || s.LearnedTo().Offset != g.offset-1 {
		t.Errorf("episode %d, dimension %d, model %q, learned to %v", report.Episode, s.Dimension(), s.model, s.LearnedTo())
	}
	for i, a := range answers {
		if a.Label != truth[i] {
			t.Errorf("%s answered %s", truth[i], a.Label)
		}
	}
	items, _ = say(g, "new")
	if _, report = answer(t, s, e, items, labels); len(report.Notes) > 0 {
		t.Errorf("said again in the next episode: %q", report.Notes)
	}
}

// TestSettingsChange: a setting that changes the meaning of the state makes the stream start from its labels
// and is reported; one that does not, does neither.
func TestSettingsChange(t *testing.T) {
	set := settings(t)
	f := newCamera(9, 3, 16, 1)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	for range 4 {
		items, _ := f.episode(20, .1)
		answer(t, s, e, items, labels)
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		fresh  bool
	}{
		"power":   {func(s *Settings) { s.Solver.Power = 1 }, true},
		"rank":    {func(s *Settings) { s.Solver.MetricRank = 8 }, true},
		"warm":    {func(s *Settings) { s.Warm = false }, true},
		"lambda":  {func(s *Settings) { s.Solver.Lambda = 1 }, false},
		"unknown": {func(s *Settings) { s.UnknownRate = .2 }, false},
	} {
		other := set
		c.change(&other)
		restored, err := Restore(other, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if restored.Episode() != 4 || restored.LearnedTo() != s.LearnedTo() {
			t.Errorf("%s: episode %d, learned to %v", name, restored.Episode(), restored.LearnedTo())
		}
		items, _ := f.episode(20, 0)
		_, report := answer(t, restored, new(Engine), items, labels)
		if noted(report, "starts from its labels") != c.fresh {
			t.Errorf("%s: notes %q", name, report.Notes)
		}
	}
}

// TestTenThousandClasses: with ten thousand classes an episode gets those near its items, in bounded memory,
// and finds the right ones.
func TestTenThousandClasses(t *testing.T) {
	set := settings(t)
	f := newCamera(10, 10_000, 32, .3)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	for range 3 {
		items, truth := f.episode(40, .1)
		answers, report := answer(t, s, e, items, labels)
		sound(t, answers)
		for i, a := range answers {
			if a.Label != truth[i] {
				t.Errorf("%s answered %s", truth[i], a.Label)
			}
		}
		if report.Events != nil && happened(report, "retired", truth[0]) {
			t.Errorf("a class out of sight is not retired")
		}
	}
	if n := len(e.problem.names); n > 40*taught.NearEach {
		t.Errorf("%d classes in one episode", n)
	}
}

// TestFullClass: a class keeps its newest examples, and reports those it drops.
func TestFullClass(t *testing.T) {
	set := settings(t)
	set.Examples = 5
	f := newCamera(11, 2, 16, 1)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	var dropped []string
	for episode := range 7 {
		items, _ := f.episode(4, 0)
		items[0].Vector, items[0].Label, items[0].ID = f.vector(0), label(0), fmt.Sprintf("t%d", episode)
		_, report := answer(t, s, e, items, labels)
		dropped = append(dropped, report.Dropped...)
	}
	if !slices.Equal(dropped, []string{"t0", "t1"}) {
		t.Errorf("dropped %v", dropped)
	}
	if n := len(s.classes.kept[label(0)]); n != 5 {
		t.Errorf("%d examples kept", n)
	}
}

// TestTeachingEndsThePrior: a stream taught after its first episode, with one label per class, answers from
// its labels and no longer from prototypes of its own answers.
func TestTeachingEndsThePrior(t *testing.T) {
	set := settings(t)
	f := newCamera(12, 3, 16, 1)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	items, _ := f.episode(30, 0)
	answer(t, s, e, items, labels)
	items, _ = f.episode(30, 0)
	if answer(t, s, e, items, labels); e.problem.Prior == nil {
		t.Fatal("no prior in the second episode: this test tests nothing")
	}
	items, _ = f.episode(30, 0)
	items[0].Label = label(0)
	answer(t, s, e, items, labels)
	items, _ = f.episode(30, 0)
	if answer(t, s, e, items, labels); e.problem.Prior != nil || !s.Summary().Taught {
		t.Error("a prior after teaching")
	}
	// Earlier versions kept some.
	s.prototypes.of = map[string]*prototype{label(1): {mean: make([]int16, 16), scale: 1, mass: 3}}
	restored, err := Restore(set, s.State())
	if err != nil || len(restored.prototypes.of) > 0 {
		t.Errorf("restored with %d prototypes, %v", len(restored.prototypes.of), err)
	}
}

// TestLabelsWithoutEnd: a feed that gives every item a label of its own costs no more with the thousandth
// label than with the hundredth: the stream keeps a bounded number of examples, reports those it drops, and
// an episode gets the classes near its items.
func TestLabelsWithoutEnd(t *testing.T) {
	set := settings(t)
	set.Solver.Check = false
	f := newCamera(13, 40, 16, .3)
	s, e := New("cam", set), new(Engine)
	dropped, told := 0, false
	for episode := range 30 {
		items, _ := f.episode(200, 0)
		for i := range items {
			items[i].Label = fmt.Sprint("invented ", episode, " ", i)
		}
		answers, report := answer(t, s, e, items, nil)
		sound(t, answers)
		dropped += len(report.Dropped)
		told = told || noted(report, "items were taught")
	}
	if want := 30*200 - examplesKept; dropped != want || !told {
		t.Errorf("%d examples given up, not %d; told: %t", dropped, want, told)
	}
	items, _ := f.episode(50, 0)
	_, report := answer(t, s, e, items, nil)
	if n := len(e.problem.names); n > 50*taught.NearEach {
		t.Errorf("%d classes in one episode", n)
	}
	if len(s.classes.owner) != examplesKept || len(s.proportions.counts) > examplesKept || len(s.classes.kept) > examplesKept {
		t.Errorf("%d examples, %d proportions, %d classes", len(s.classes.owner), len(s.proportions.counts), len(s.classes.kept))
	}
	if len(report.Events) > 0 && happened(report, "born", "") {
		t.Errorf("events %+v", report.Events)
	}
}

// TestDoubtfulStreamIsTold: a stream whose labels are unlike its items is reported as doubtful; one that is
// answered well is not.
func TestDoubtfulStreamIsTold(t *testing.T) {
	for name, want := range map[string]bool{"unlike its labels": true, "like its labels": false} {
		set := settings(t)
		f := newCamera(14, 8, 16, .3)
		s, e := New("cam", set), new(Engine)
		labels := f.labels(1)
		told := false
		for range 12 {
			items, truth := f.episode(20, 0)
			for i := range items {
				if i%3 == 0 {
					items[i].Label = truth[i]
				}
				if want { // nothing repeats
					items[i].Vector = newCamera(uint64(1000+items[i].Position.Offset), 1, 16, 0).vector(0)
				}
			}
			_, report := answer(t, s, e, items, labels)
			told = told || noted(report, "looks unlike its labels")
		}
		if told != want {
			t.Errorf("%s: told %t", name, told)
		}
	}
}

// TestSplitEndsThePrototype: a stream has learned a class from items of two kinds. Examples of one kind get a
// name of their own. What was learned of the old name no longer answers items near them, even restored.
func TestSplitEndsThePrototype(t *testing.T) {
	for _, from := range []string{"topic", "feed"} {
		set := settings(t)
		f := newCamera(21, 4, 24, .2)
		for j := range f.centres[3] { // the new kind is like the first class, and unlike the others
			f.centres[3][j] = f.centres[0][j] + .6*f.centres[3][j]
		}
		labels := &taught.Labels{}
		for _, e := range f.labels(3).Everyone {
			if e.Label != label(3) {
				labels.Everyone = append(labels.Everyone, e)
			}
		}
		s, e := New("cam", set), new(Engine)
		for range 5 { // its items are answered with the first class, which learns from them
			items, _ := f.episode(40, 0)
			for i := range 20 {
				items[i].Vector = f.vector(3)
			}
			answer(t, s, e, items, labels)
		}
		if s.prototypes.of[label(0)] == nil || s.prototypes.of[label(1)] == nil {
			t.Fatal("nothing was learned: this test tests nothing")
		}
		items, _ := f.episode(40, 0)
		moved := f.vector(3)
		if from == "feed" {
			items[7].Vector, items[7].Label = moved, "eve"
		} else {
			labels = labels.With(taught.Changes{Examples: []taught.Change{
				{Stream: "cam", Example: taught.Example{ID: "moved", Label: "eve", Vector: moved}},
			}})
		}
		answer(t, s, e, items, labels)
		if len(s.prototypes.of) > 0 {
			t.Errorf("%s: prototypes of %v are left", from, slices.Sorted(maps.Keys(s.prototypes.of)))
		}
		s, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		s.Name = "cam"
		items, _ = f.episode(40, 0)
		for i := range 20 {
			items[i].Vector = f.vector(3)
		}
		answers, _ := answer(t, s, e, items, labels)
		for i, a := range answers[:20] {
			if a.Label != "eve" {
				t.Errorf("%s: item %d is answered %s", from, i, a.Label)
			}
		}
	}
}
