package stream_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/now"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// attend answers the scenario's episodes, and every item before its episode; meddle is called before each
// item.
func attend(t *testing.T, c stream.Scenario, meddle func(*now.Now)) (first [][]stream.Answer, right, settled, all int) {
	t.Helper()
	set := stream.TestSettings(t)
	set.Discover, set.Warm, set.Time = c.Discover, c.Warm, !c.Untimed
	f := stream.NewCamera(3, 7, 24, .8)
	labels := f.Labels(c.Shots)
	s, e := stream.New("cam", set), new(stream.Engine)
	var n now.Now
	var knows *view.View
	follow := func(items []stream.Item, answers []stream.Answer) {
		k, err := s.View(&stream.Item{Vector: make24()}, labels, knows)
		if err != nil {
			t.Fatal(err)
		}
		knows = k
		n.Follow(k, items, answers)
	}
	follow(nil, nil)
	for episode := range 14 {
		if episode == 5 && c.Shots > 0 { // a new class, and a label corrected
			labels = &taught.Labels{Everyone: labels.Everyone, Stream: map[string][]taught.Example{"cam": {
				{ID: "own", Label: "another", Vector: f.Vector(1)}, {ID: "s0-0", Label: stream.LabelOf(0), Vector: f.Vector(0)},
			}}}
		}
		items, truth := f.Bursts(20+episode%3, 5)
		for i := range items {
			if c.Taught > 0 && i%9 == 4 {
				items[i].Label = truth[i]
			}
			if c.Framed { // three objects a record
				items[i].Position = stream.Position{Offset: items[i].Position.Offset / 3, Object: int32(items[i].Position.Offset % 3)}
				items[i].Frame, items[i].Track = fmt.Sprint(items[i].Position.Offset), fmt.Sprint(truth[i], episode/3)
			}
		}
		var given []stream.Answer
		for from := 0; from < len(items); from += 3 {
			meddle(&n)
			given = append(given, n.Answer(items[from:min(len(items), from+3)])...)
		}
		answers, _ := stream.AnswerFor(t, s, e, items, labels)
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
		if c.Shots > 0 {
			stream.Sound(t, given)
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
	for _, c := range stream.Scenarios() {
		t.Run(c.Name, func(t *testing.T) {
			first, right, settled, all := attend(t, c, func(*now.Now) {})
			if c.Shots > 0 && float64(right) < .9*float64(settled) {
				t.Errorf("of %d items %d are right at first, %d in their episodes", all, right, settled)
			}
			again, _, _, _ := attend(t, c, func(n *now.Now) {
				n.Ask([]stream.Item{{ID: "q", Vector: make24(), Frame: "1"}, {Vector: make24(), Frame: "1", Track: "2"}})
			})
			if !reflect.DeepEqual(first, again) {
				t.Error("a question changed the first answers")
			}
		})
	}
}

// Episodes are answered alike, whether their items had first answers or not.
func TestFirstAnswersChangeNoEpisode(t *testing.T) {
	for _, shots := range []int{0, 2} {
		set, f := stream.TestSettings(t), stream.NewCamera(3, 7, 24, .8)
		labels, e := f.Labels(shots), new(stream.Engine)
		with, without := stream.New("cam", set), stream.New("cam", set)
		var n now.Now
		for episode := range 12 {
			items, _ := f.Episode(30, .1*float64(shots))
			k, err := with.View(&items[0], labels, nil)
			if err != nil {
				t.Fatal(err)
			}
			n.Follow(k, nil, nil)
			n.Answer(items)
			got, _ := stream.AnswerFor(t, with, e, items, labels)
			if want, _ := stream.AnswerFor(t, without, e, items, labels); !reflect.DeepEqual(got, want) {
				t.Errorf("%d shots, episode %d: other answers", shots, episode)
			}
		}
		if !reflect.DeepEqual(with.State(), without.State()) {
			t.Errorf("%d shots: another state", shots)
		}
	}
}

// Clusters answer first where nothing is labelled: what came before gets its cluster's name.
func TestFirstAnswersOfClusters(t *testing.T) {
	set := stream.TestSettings(t)
	f := stream.NewCamera(5, 4, 24, .3)
	s, e := stream.New("cam", set), new(stream.Engine)
	var n now.Now
	if n.Answer([]stream.Item{{Vector: make24()}}) != nil {
		t.Error("answered by nothing")
	}
	var knows *view.View
	same, all := 0, 0
	for episode := range 8 {
		items, _ := f.Episode(24, 0)
		given := n.Answer(items)
		answers, _ := stream.AnswerFor(t, s, e, items, nil)
		for i := range given {
			if all++; given[i].Label == answers[i].Label && !given[i].Unknown {
				same++
			}
		}
		var err error
		if knows, err = s.View(&items[0], nil, knows); err != nil {
			t.Fatal(err)
		}
		n.Follow(knows, items, answers)
		if episode == 3 {
			same, all = 0, 0 // until then clusters are born
		}
	}
	if all == 0 || float64(same) < .9*float64(all) {
		t.Errorf("%d of %d items are answered with their clusters at first", same, all)
	}
	if a := n.Answer([]stream.Item{{Vector: slices.Repeat([]float32{1, -5}, 12)}}); len(a) != 1 || !a[0].Unknown {
		t.Errorf("what was never seen: %+v", a)
	}
}

func TestItemsWithoutFirstAnswer(t *testing.T) {
	f := stream.NewCamera(5, 4, 24, .3)
	s := stream.New("cam", stream.TestSettings(t))
	var n now.Now
	k, err := s.View(&stream.Item{Vector: make24()}, f.Labels(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	n.Follow(k, nil, nil)
	nan := make24()
	nan[3] = float32(math.NaN())
	for name, item := range map[string]stream.Item{
		"model": {Model: "another", Vector: make24()}, "dimension": {Vector: make24()[:23]}, "no vector": {},
		"zeros": {Vector: make([]float32, 24)}, "NaN": {Vector: nan},
	} {
		if a := n.Answer([]stream.Item{item}); a != nil {
			t.Errorf("%s: %+v", name, a)
		}
		if _, err := s.View(&item, f.Labels(1), nil); err == nil && (name == "NaN" || name == "zeros") {
			t.Errorf("%s: knowledge of it", name)
		}
	}
	if a := n.Answer([]stream.Item{{Vector: f.Vector(2)}}); len(a) != 1 || a[0].Label != stream.LabelOf(2) {
		t.Errorf("after them: %+v", a)
	}
}

// Items are answered first by the prototypes alone if there are to be no neighbours.
func TestFirstAnswersWithoutNeighbours(t *testing.T) {
	set := stream.TestSettings(t)
	set.Solver.Rho = 0
	f := stream.NewCamera(5, 4, 24, .3)
	items, _ := f.Episode(40, 0)
	k, err := stream.New("cam", set).View(&items[0], f.Labels(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n now.Now
	n.Follow(k, nil, nil)
	if a := n.Answer(items); len(a) != len(items) {
		t.Errorf("%d answers to %d items", len(a), len(items))
	} else {
		stream.Sound(t, a)
	}
}

// BenchmarkNow is the cost of first answers beside that of the settled ones: 100 items of ten classes in
// runs.
func BenchmarkNow(b *testing.B) {
	for _, d := range []int{128, 512} {
		set := stream.TestSettings(b)
		set.Solver.Check = false
		f := stream.NewCamera(1, 10, d, 1.5)
		labels := f.Labels(5)
		s, e := stream.New("cam", set), new(stream.Engine)
		var n now.Now
		var knows *view.View
		var items []stream.Item
		var answers []stream.Answer
		follow := func() {
			var err error
			if knows, err = s.View(&items[0], labels, knows); err != nil {
				b.Fatal(err)
			}
			n.Follow(knows, items, answers)
		}
		for range 12 {
			items, _ = f.Bursts(100, 12)
			answers, _ = stream.AnswerFor(b, s, e, items, labels)
		}
		follow()
		b.Run(fmt.Sprintf("d=%d/episode", d), func(b *testing.B) {
			for b.Loop() {
				stream.AnswerFor(b, s, e, items, labels)
			}
		})
		for _, tile := range []int{1, 25} {
			b.Run(fmt.Sprintf("d=%d/first-by-%d", d, tile), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for from := 0; from < 100; from += tile {
						n.Answer(items[from : from+tile])
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

// BenchmarkNowOfMany is the cost of first answers where streams take turns, as in a stage: what one knows is out of the
// core's cache when its turn comes again.
func BenchmarkNowOfMany(b *testing.B) {
	const d, streams, tile = 512, 48, 12
	set := stream.TestSettings(b)
	set.Solver.Check = false
	f := stream.NewCamera(1, 10, d, 1.5)
	labels := f.Labels(5)
	e := new(stream.Engine)
	var all [streams]now.Now
	var items [streams][]stream.Item
	for i := range all {
		s := stream.New("cam", set)
		var answers []stream.Answer
		for range 70 {
			items[i], _ = f.Bursts(24, 12)
			answers, _ = stream.AnswerFor(b, s, e, items[i], labels)
		}
		knows, err := s.View(&items[i][0], labels, nil)
		if err != nil {
			b.Fatal(err)
		}
		all[i].Follow(knows, items[i], answers)
	}
	n, took := 0, []time.Duration(nil)
	for b.Loop() {
		from := time.Now()
		all[n%streams].Answer(items[n%streams][:tile])
		took = append(took, time.Since(from))
		n++
	}
	slices.Sort(took)
	for _, q := range []int{10, 25, 50} {
		b.ReportMetric(float64(took[len(took)*q/100].Nanoseconds())/tile, fmt.Sprintf("ns/item-p%d", q))
	}
}

// What was rejected is not answered at first either: not near the vector, and not on its track; names are
// those of today.
func TestFirstAnswersKnowRejections(t *testing.T) {
	f := stream.NewCamera(22, 4, 16, .6)
	labels := f.Labels(3)
	items, _ := f.Episode(40, 0)
	s := stream.New("cam", stream.TestSettings(t))
	first := func(l *taught.Labels, items ...stream.Item) []stream.Answer {
		t.Helper()
		k, err := s.View(&items[0], l, nil)
		if err != nil {
			t.Fatal(err)
		}
		var n now.Now
		n.Follow(k, nil, nil)
		return n.Answer(items)
	}
	was := first(labels, items[0])[0].Label
	x := taught.Rejection{ID: items[0].ID, Not: []string{was}, Vector: items[0].Vector, Track: "7"}
	if a := first(stream.Reject(labels, x), items[0])[0]; a.Label == was || a.Confidence > 1 {
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
		if a := first(stream.Reject(labels, x), items[i])[0]; a.Label == was {
			t.Errorf("item %d of the track is still %s", i, was)
		}
	}
	merged := stream.Named(t, labels, taught.Name{Name: was, Into: "seen"})
	if a := first(merged, items[0])[0]; a.Label != "seen" {
		t.Errorf("named seen: %s", a.Label)
	}
	x.Not = []string{"seen"}
	if a := first(stream.Reject(merged, x), items[0])[0]; a.Label == "seen" {
		t.Error("the name that people see cannot be rejected")
	}
}

// TestFirstAnswersOfNamedClasses: a first answer is compared with its episode's by the name of its class,
// not by the class: an answer that stays the same must not count as one that changed.
func TestFirstAnswersOfNamedClasses(t *testing.T) {
	f := stream.NewCamera(22, 4, 16, .6)
	plain := f.Labels(3)
	labels := stream.Named(
		t,
		plain,
		taught.Name{Name: stream.LabelOf(0), Into: "seen"},
		taught.Name{Name: stream.LabelOf(1), Into: "seen"},
	)
	items, _ := f.Episode(40, 0)
	s := stream.New("cam", stream.TestSettings(t))
	k, err := s.View(&items[0], labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	var n now.Now
	n.Follow(k, nil, nil)
	first := n.Answer(items)
	stream.Sound(t, first)
	answers, _ := stream.AnswerFor(t, s, new(stream.Engine), items, labels)
	seen := 0
	for _, a := range first {
		if a.Label == stream.LabelOf(0) || a.Label == stream.LabelOf(1) {
			t.Errorf("answered %s by its former name", a.Label)
		}
		if a.Label == "seen" {
			seen++
		}
	}
	before := 0.
	for _, a := range n.Ask(items) {
		before += a.Confidence
	}
	n.Follow(k, items, answers)
	after := 0.
	for _, a := range n.Ask(items) {
		after += a.Confidence
	}
	if seen == 0 || after < .8*before {
		t.Errorf("%d of %d items are named, and first answers are sure by %g, %g before", seen, len(items), after, before)
	}
}
