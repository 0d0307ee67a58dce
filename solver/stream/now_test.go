package stream

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// attend answers the scenario's episodes, and every item before its episode; meddle is called before each
// item.
func (c scenario) attend(t *testing.T, meddle func(*Now)) (first [][]Answer, right, settled, all int) {
	t.Helper()
	set := settings(t)
	set.Discover, set.Warm, set.Time = c.discover, c.warm, !c.untimed
	f := newCamera(3, 7, 24, .8)
	labels := f.labels(c.shots)
	s, e := New("cam", set), new(Engine)
	var now Now
	var knows *View
	follow := func(items []Item, answers []Answer) {
		k, err := s.View(&Item{Vector: make24()}, labels, knows)
		if err != nil {
			t.Fatal(err)
		}
		knows = k
		now.Follow(k, items, answers)
	}
	follow(nil, nil)
	for episode := range 14 {
		if episode == 5 && c.shots > 0 { // a new class, and a label corrected
			labels = &taught.Labels{Everyone: labels.Everyone, Stream: map[string][]taught.Example{"cam": {
				{ID: "own", Label: "another", Vector: f.vector(1)}, {ID: "s0-0", Label: label(0), Vector: f.vector(0)},
			}}}
		}
		items, truth := f.bursts(20+episode%3, 5)
		for i := range items {
			if c.taught > 0 && i%9 == 4 {
				items[i].Label = truth[i]
			}
			if c.framed { // three objects a record
				items[i].Position = Position{items[i].Position.Offset / 3, int32(items[i].Position.Offset % 3)}
				items[i].Frame, items[i].Track = fmt.Sprint(items[i].Position.Offset), fmt.Sprint(truth[i], episode/3)
			}
		}
		var given []Answer
		for from := 0; from < len(items); from += 3 {
			meddle(&now)
			given = append(given, now.Answer(items[from:min(len(items), from+3)])...)
		}
		answers, _ := answer(t, s, e, items, labels)
		for i, a := range given {
			if items[i].Label != "" && a.Label != items[i].Label {
				t.Errorf("episode %d: an item labelled %s is answered %s", episode, items[i].Label, a.Label)
			}
			if a.Label == truth[i] {
				right++
			}
			if answers[i].Label == truth[i] {
				settled++
			}
			all++
		}
		if c.shots > 0 {
			sound(t, given)
			if len(given) != len(items) {
				t.Fatalf("episode %d: %d first answers to %d items", episode, len(given), len(items))
			}
		}
		first = append(first, given)
		follow(items, answers)
	}
	return first, right, settled, all
}

// make24 is a vector of 24 dimensions.
func make24() []float32 { return slices.Repeat([]float32{1}, 24) }

// First answers are about as good as those of the episodes, whatever the stream is like; questions between
// them change nothing.
func TestFirstAnswers(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			first, right, settled, all := c.attend(t, func(*Now) {})
			if c.shots > 0 && float64(right) < .9*float64(settled) {
				t.Errorf("of %d items %d are right at first, %d in their episodes", all, right, settled)
			}
			again, _, _, _ := c.attend(t, func(n *Now) {
				n.Ask([]Item{{ID: "q", Vector: make24(), Frame: "1"}, {Vector: make24(), Frame: "1", Track: "2"}})
			})
			if !reflect.DeepEqual(first, again) {
				t.Error("a question changed the first answers")
			}
		})
	}
}

// Clusters answer first where nothing is labelled: what came before gets its cluster's name.
func TestFirstAnswersOfClusters(t *testing.T) {
	set := settings(t)
	f := newCamera(5, 4, 24, .3)
	s, e := New("cam", set), new(Engine)
	var now Now
	if now.Answer([]Item{{Vector: make24()}}) != nil {
		t.Error("answered by nothing")
	}
	var knows *View
	same, all := 0, 0
	for episode := range 8 {
		items, _ := f.episode(24, 0)
		given := now.Answer(items)
		answers, _ := answer(t, s, e, items, nil)
		for i := range given {
			if all++; given[i].Label == answers[i].Label && !given[i].Unknown {
				same++
			}
		}
		var err error
		if knows, err = s.View(&items[0], nil, knows); err != nil {
			t.Fatal(err)
		}
		now.Follow(knows, items, answers)
		if episode == 3 {
			same, all = 0, 0 // until then clusters are born
		}
	}
	if all == 0 || float64(same) < .9*float64(all) {
		t.Errorf("%d of %d items are answered with their clusters at first", same, all)
	}
	if a := now.Answer([]Item{{Vector: slices.Repeat([]float32{1, -5}, 12)}}); len(a) != 1 || !a[0].Unknown {
		t.Errorf("what was never seen: %+v", a)
	}
}

func TestItemsWithoutFirstAnswer(t *testing.T) {
	f := newCamera(5, 4, 24, .3)
	s := New("cam", settings(t))
	var now Now
	k, err := s.View(&Item{Vector: make24()}, f.labels(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	now.Follow(k, nil, nil)
	nan := make24()
	nan[3] = float32(math.NaN())
	for name, item := range map[string]Item{
		"model": {Model: "another", Vector: make24()}, "dimension": {Vector: make24()[:23]}, "no vector": {},
		"zeros": {Vector: make([]float32, 24)}, "NaN": {Vector: nan},
	} {
		if a := now.Answer([]Item{item}); a != nil {
			t.Errorf("%s: %+v", name, a)
		}
		if _, err := s.View(&item, f.labels(1), nil); err == nil && (name == "NaN" || name == "zeros") {
			t.Errorf("%s: knowledge of it", name)
		}
	}
	if a := now.Answer([]Item{{Vector: f.vector(2)}}); len(a) != 1 || a[0].Label != label(2) {
		t.Errorf("after them: %+v", a)
	}
}

// Items are answered first by the prototypes alone if there are to be no neighbours.
func TestFirstAnswersWithoutNeighbours(t *testing.T) {
	set := settings(t)
	set.Solver.Rho = 0
	f := newCamera(5, 4, 24, .3)
	items, _ := f.episode(40, 0)
	k, err := New("cam", set).View(&items[0], f.labels(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	var now Now
	now.Follow(k, nil, nil)
	if a := now.Answer(items); len(a) != len(items) {
		t.Errorf("%d answers to %d items", len(a), len(items))
	} else {
		sound(t, a)
	}
}

// BenchmarkNow is the cost of first answers beside that of the settled ones: 100 items of ten classes in
// runs.
func BenchmarkNow(b *testing.B) {
	for _, d := range []int{128, 512} {
		set := settings(b)
		set.Solver.Check = false
		f := newCamera(1, 10, d, 1.5)
		labels := f.labels(5)
		s, e := New("cam", set), new(Engine)
		var now Now
		var knows *View
		var items []Item
		var answers []Answer
		follow := func() {
			var err error
			if knows, err = s.View(&items[0], labels, knows); err != nil {
				b.Fatal(err)
			}
			now.Follow(knows, items, answers)
		}
		for range 12 {
			items, _ = f.bursts(100, 12)
			answers, _ = answer(b, s, e, items, labels)
		}
		follow()
		b.Run(fmt.Sprintf("d=%d/episode", d), func(b *testing.B) {
			for b.Loop() {
				answer(b, s, e, items, labels)
			}
		})
		for _, tile := range []int{1, 25} {
			b.Run(fmt.Sprintf("d=%d/first-by-%d", d, tile), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for from := 0; from < 100; from += tile {
						now.Answer(items[from : from+tile])
					}
				}
			})
		}
		b.Run(fmt.Sprintf("d=%d/follow", d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				follow()
			}
		})
	}
}

// Until labels tell how often they are right, first answers are about as sure as their episodes will be.
func TestFirstAnswersAreAsSureAsTheirEpisodes(t *testing.T) {
	var p settledPairs
	if f := p.fit(); f.a != 1 || f.b != 0 {
		t.Errorf("of no pairs: %+v", f)
	}
	p.add(.2, .9)
	if c := p.fit().confidence(.2); c < .2 || c > .5 {
		t.Errorf("one pair moves .2 to %g", c)
	}
	for i := range 2 * pairsKept { // the later half is of another kind than the first
		first := .1 + .8*float64(i%50)/50
		settled := 1 - first
		if i >= pairsKept {
			settled = (1 + first) / 2
		}
		p.add(float32(first), settled)
	}
	for _, first := range []float64{.2, .5, .8} {
		if c, want := p.fit().confidence(first), (1+first)/2; math.Abs(c-want) > .06 {
			t.Errorf("%g is taken to %g, not about %g", first, c, want)
		}
	}
	p.add(0, 1) // no pair is beyond numbers
	p.add(1, 0)
	if c := p.fit().confidence(.5); math.IsNaN(c) {
		t.Error("not a number")
	}
	a := Answer{Label: "a", Confidence: .6, Alternatives: []Alternative{{"b", .3}}}
	if a.of("a") != .6 || a.of("b") != .3 || a.of("c") != 0 {
		t.Error("how sure an answer is of each label")
	}
}

// What was rejected is not answered at first either: not near the vector, and not on its track; names are
// those of today.
func TestFirstAnswersKnowRejections(t *testing.T) {
	f := newCamera(22, 4, 16, .6)
	labels := f.labels(3)
	items, _ := f.episode(40, 0)
	s := New("cam", settings(t))
	first := func(l *taught.Labels, items ...Item) []Answer {
		t.Helper()
		k, err := s.View(&items[0], l, nil)
		if err != nil {
			t.Fatal(err)
		}
		var now Now
		now.Follow(k, nil, nil)
		return now.Answer(items)
	}
	was := first(labels, items[0])[0].Label
	x := taught.Rejection{ID: items[0].ID, Not: []string{was}, Vector: items[0].Vector, Track: "7"}
	if a := first(reject(labels, x), items[0])[0]; a.Label == was || a.Confidence > 1 {
		t.Errorf("still %+v", a)
	}
	for i := range items {
		if first(labels, items[i])[0].Label != was {
			continue
		}
		items[i].Track = "7"
		for j := range items[i].Vector { // within reach of a track
			items[i].Vector[j] += items[0].Vector[j]
		}
		if a := first(reject(labels, x), items[i])[0]; a.Label == was {
			t.Errorf("item %d of the track is still %s", i, was)
		}
	}
	merged := named(t, labels, taught.Name{Name: was, Into: "seen"})
	if a := first(merged, items[0])[0]; a.Label != "seen" {
		t.Errorf("named seen: %s", a.Label)
	}
	x.Not = []string{"seen"}
	if a := first(reject(merged, x), items[0])[0]; a.Label == "seen" {
		t.Error("the name that people see cannot be rejected")
	}
}

// TestFirstAnswersOfNamedClasses: a first answer is compared with its episode's by the name of its class,
// not by the class: an answer that stays the same must not count as one that changed.
func TestFirstAnswersOfNamedClasses(t *testing.T) {
	f := newCamera(22, 4, 16, .6)
	plain := f.labels(3)
	labels := named(t, plain, taught.Name{Name: label(0), Into: "seen"}, taught.Name{Name: label(1), Into: "seen"})
	items, _ := f.episode(40, 0)
	s := New("cam", settings(t))
	k, err := s.View(&items[0], labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	var now Now
	now.Follow(k, nil, nil)
	first := now.Answer(items)
	sound(t, first)
	answers, _ := answer(t, s, new(Engine), items, labels)
	seen := 0
	for _, a := range first {
		if a.Label == label(0) || a.Label == label(1) {
			t.Errorf("answered %s by its former name", a.Label)
		}
		if a.Label == "seen" {
			seen++
		}
	}
	now.Follow(k, items, answers)
	if now.pairs.count != len(items) || seen == 0 {
		t.Fatalf("%d pairs of %d items, %d of them named", now.pairs.count, len(items), seen)
	}
	for i, a := range first {
		if pair := now.pairs.pairs[i]; a.Label == answers[i].Label && pair[1] != logistic.Logit(answers[i].Confidence) {
			t.Errorf("item %d is %s twice, with %g in place of %g", i, a.Label, pair[1], logistic.Logit(answers[i].Confidence))
		}
	}
}
