package stream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestUnknownRateBeforeTeaching: before anything is taught, the share of known items called unknown is the
// one asked for, whatever the labelled items are, and items far from all are still unknown.
func TestUnknownRateBeforeTeaching(t *testing.T) {
	for name, shots := range map[string]int{"one a class": 1, "the same picture five times": 5} {
		for _, rate := range []float64{.02, .05, .2} {
			settings := Defaults()
			settings.UnknownRate = rate
			engine := new(Engine)
			feed, stream := newCamera(3, 8, 32, .4), New("s", settings)
			labels := feed.labels(1)
			for _, e := range slices.Clone(labels.Everyone) {
				for i := 1; i < shots; i++ {
					copied := e
					copied.ID += string(rune('a' + i))
					copied.Vector = slices.Clone(e.Vector)
					copied.Vector[i] += .01
					labels.Everyone = append(labels.Everyone, copied)
				}
			}
			called, found := 0, 0
			const episodes, n, strangers = 20, 100, 2
			for range episodes {
				items, _ := feed.episode(n, 0)
				for i := range strangers {
					items[i].Vector = newCamera(99, 1, 32, 0).vector(0)
				}
				answers, _, err := stream.Answer(context.Background(), engine, items, labels)
				if err != nil {
					t.Fatal(err)
				}
				for i, a := range answers {
					if a.Unknown && i >= strangers {
						called++
					} else if a.Unknown {
						found++
					}
				}
			}
			share := float64(called) / (episodes * (n - strangers))
			if share > 2*rate || share < rate/4-.005 {
				t.Errorf("%s: %.3f of the known items are called unknown, not about %g", name, share, rate)
			}
			if rate > .02 && found < episodes*strangers/2 {
				t.Errorf("%s at %g: %d of %d strangers found", name, rate, found, episodes*strangers)
			}
		}
	}
}

// TestNobodyIsNoKnownClass: false detections taught as Nobody do not make others known that
// resemble no label.
func TestNobodyIsNoKnownClass(t *testing.T) {
	found := map[bool]int{}
	for _, taught := range []bool{false, true} {
		for seed := range uint64(4) {
			set := settings(t)
			f := newCamera(seed, 8, 32, .6)
			s, e := New("cam", set), new(Engine)
			labels := f.labels(2)
			for episode := range 12 {
				items, _ := f.episode(60, .1)
				for i := 3; i < len(items); i += 8 { // no two similar
					items[i].Vector, items[i].Label = make([]float32, 32), ""
					for j := range items[i].Vector {
						items[i].Vector[j] = float32(f.random.NormFloat64())
					}
					if taught && i%16 == 3 {
						items[i].Label = Nobody
					}
				}
				answers, _ := answer(t, s, e, items, labels)
				for i := 11; i < len(items) && episode > 3; i += 16 {
					if answers[i].Unknown || answers[i].Label == Nobody {
						found[taught]++
					}
				}
			}
		}
	}
	if found[true] < found[false] {
		t.Errorf("%d false detections are found where others were taught, %d where none was", found[true],
			found[false])
	}
}

// TestManyStrangersAreFound: where many items are of classes without labels, the labelled items show where
// known ones end, and most unknown ones are found. Where none is, about as many known items are called
// unknown as was asked for.
func TestManyStrangersAreFound(t *testing.T) {
	for _, part := range []int{0, 4, 2} { // one item in this many is of an unknown class
		set := settings(t)
		f := newCamera(11, 12, 32, .35)
		labels := f.labels(12)
		labels.Everyone = slices.DeleteFunc(labels.Everyone, func(e taught.Example) bool { return e.Label >= label(8) })
		s, e := New("cam", set), new(Engine)
		var found, strangers, called, known float64
		for episode := range 20 {
			items := make([]Item, 60)
			for i := range items {
				class := f.random.IntN(8)
				if part > 0 && i%part == 0 {
					class = 8 + f.random.IntN(4)
				}
				items[i] = Item{
					ID: fmt.Sprint(episode, i), Vector: f.vector(class),
					Position: Position{Offset: int64(60*episode + i), Object: -1},
				}
			}
			answers, _ := answer(t, s, e, items, labels)
			if episode == 0 {
				continue // labelled items are scored once the first episode is answered
			}
			for i, a := range answers {
				is := 0.
				if a.Unknown {
					is = 1
				}
				if part > 0 && i%part == 0 {
					strangers, found = strangers+1, found+is
				} else {
					known, called = known+1, called+is
				}
			}
		}
		if called > .12*known {
			t.Errorf("strangers one in %d: %g of %g known items are called unknown", part, called, known)
		}
		if found < .7*strangers {
			t.Errorf("strangers one in %d: %g of %g are found", part, found, strangers)
		}
	}
}

// TestConfidenceIsBoundedByTheDistance: the bound of the confidence falls with the distance and is above .9 only for
// most of the known items, until labels came later; without a limit only copies of examples pass it.
func TestConfidenceIsBoundedByTheDistance(t *testing.T) {
	for taught, most := range map[bool]float64{false: .9, true: 1} {
		l := view.Limit{At: 1, Low: .5, Taught: taught}
		for score, want := range map[float64]float64{0: 1, .5: 1, .6: most, 1: most, 1.25: .675, 2: .6} {
			if got := l.Confidence(1, score); math.Abs(float64(got)-want) > 1e-6 {
				t.Errorf("taught %t, score %g: %g, not %g", taught, score, got, want)
			}
		}
	}
	for taught, most := range map[bool]float64{false: .75, true: 1} {
		l := view.Limit{At: math.Inf(1), Taught: taught}
		for score, want := range map[float64]float64{0: 1, .1: most, 2: most} {
			if got := l.Confidence(1, score); math.Abs(float64(got)-want) > 1e-6 {
				t.Errorf("no limit, taught %t, score %g: %g, not %g", taught, score, got, want)
			}
		}
	}
	if got := (view.Limit{At: .5, Low: math.Inf(1)}).Confidence(1, 2); got != 1 {
		t.Errorf("clusters: %g", got)
	}
	if got := (view.Limit{At: 1, Low: 1}).Confidence(1, 1.5); math.Abs(float64(got)-.6) > 1e-6 {
		t.Errorf("no spread: %g", got)
	}
}

// TestNoStrangerIsSureWithoutALimit: a stream that begins with nothing but strangers answers them with the nearest names
// until a limit is known, and is sure of none; of items of known classes it is sure as soon as there is one.
func TestNoStrangerIsSureWithoutALimit(t *testing.T) {
	for _, classes := range []int{2, 5} {
		for _, size := range []int{1, 8, enough - 1} {
			f := newCamera(3, 2*classes, 16, .1)
			labels := &taught.Labels{Everyone: f.labels(3).Everyone[:3*classes]}
			s, e := New("cam", settings(t)), new(Engine)
			var items []Item
			for i := range size {
				items = append(items, Item{Vector: f.vector(classes + i%classes), Position: Position{Offset: int64(i), Object: -1}})
			}
			answers, _ := answer(t, s, e, items, labels)
			for i, a := range answers {
				if a.Confidence > .75 {
					t.Errorf("%d classes, stranger %d of %d: %s, %.3f", classes, i, size, a.Label, a.Confidence)
				}
			}
			s, items = New("cam", settings(t)), nil
			for i := range 2 * enough {
				items = append(items, Item{Vector: f.vector(i % classes), Position: Position{Offset: int64(i), Object: -1}})
			}
			answers, _ = answer(t, s, e, items, labels)
			sure := 0
			for _, a := range answers {
				if a.Confidence > .89 {
					sure++
				}
			}
			if sure < len(items)*3/4 {
				t.Errorf("%d classes: sure of %d of %d known items", classes, sure, len(items))
			}
		}
	}
}

// TestLeftOutLabelsAreScoredAsItems: left-out labelled items are scored as other items are: about the current
// mean, with and without the metric.
func TestLeftOutLabelsAreScoredAsItems(t *testing.T) {
	set := settings(t)
	f := newCamera(11, 6, 24, .35)
	labels := f.labels(6)
	for i := range labels.Everyone { // a mean far from zero, as of embeddings
		for j := range labels.Everyone[i].Vector {
			labels.Everyone[i].Vector[j] += 2
		}
	}
	s, e := New("cam", set), new(Engine)
	for range 8 { // the metric is made at the eighth
		items, _ := f.episode(40, 0)
		for i := range items {
			for j := range items[i].Vector {
				items[i].Vector[j] += 2
			}
		}
		answer(t, s, e, items, labels)
	}
	k, err := s.View(&Item{Vector: labels.Everyone[0].Vector}, labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	if k.Learned == nil || len(s.novelty.leftOut) != len(k.Class) {
		t.Fatalf("%d scores of %d labels, metric %v", len(s.novelty.leftOut), len(k.Class), k.Learned)
	}
	var want []float64
	n := len(k.Class)
	var z []float32
	for _, x := range k.Examples {
		z = append(z, make([]float32, k.Dimension)...)
		k.Raise(z[len(z)-k.Dimension:], x.Vector)
	}
	var rows view.Rows
	var tile view.Tile
	k.Resize(&rows, n)
	k.PutTile(&tile, &rows, z)
	products := make([]float32, n*n)
	k.Products(products, &tile, &k.Labelled, 0)
	for i := range k.Class {
		near, plain := math.Inf(1), math.Inf(1)
		for j := range k.Class {
			if j != i {
				near = min(near, view.Distance(products[i*n+j]))
				plain = min(plain, k.Plainly(&tile, i, &k.Labelled, j))
			}
		}
		want = append(want, (near+plain)/2)
	}
	slices.Sort(want)
	for i, v := range s.novelty.leftOut {
		if math.Abs(v-want[i]) > 5e-3 { // a view rounds rows to bytes
			t.Errorf("score %d: %g, not %g", i, v, want[i])
		}
	}
}

// TestConfidenceBeforeAnythingIsTaught: the confidence is about the share of right answers, with few classes and many.
func TestConfidenceBeforeAnythingIsTaught(t *testing.T) {
	for _, classes := range []int{5, 60} {
		set := settings(t)
		f := newCamera(11, classes, 48, 1.2)
		labels := f.labels(5)
		s, e := New("cam", set), new(Engine)
		var right, stated, all float64
		for episode := range 12 {
			items, truth := make([]Item, 60), make([]string, 60)
			for i := range items {
				class := f.random.IntN(classes)
				truth[i] = label(class)
				items[i] = Item{
					ID: fmt.Sprint(episode, i), Vector: f.vector(class),
					Position: Position{Offset: int64(60*episode + i), Object: -1},
				}
			}
			answers, _ := answer(t, s, e, items, labels)
			for i, a := range answers {
				if all++; a.Label == truth[i] {
					right++
				}
				stated += a.Confidence
			}
		}
		if off := math.Abs(right-stated) / all; off > .2 {
			t.Errorf("%d classes: %.2f are right, confidence %.2f", classes, right/all, stated/all)
		}
	}
}

// TestHeldOutAnswersMakeTheLimit: with enough answers to items that people labelled later, the limit is the
// score that the allowed share of them exceeds, before and after a restore. Items of no class and answers of
// which no score is known do not count.
func TestHeldOutAnswersMakeTheLimit(t *testing.T) {
	s := New("cam")
	for i := range 100 {
		s.novelty.scores[i]++
	}
	own := s.unknownLimit(&s.novelty.scores).At
	answer := func(label string, score float32) {
		a := verdict{id: "x", label: label, predicted: "a", z: .5, score: score}
		s.calibration.answers = append(s.calibration.answers, a)
	}
	for i := range 2 * enough {
		answer(Nobody, 1.9)
		answer("a", 0)
		if i < enough {
			answer("a", .3)
		}
	}
	if at := s.unknownLimit(&s.novelty.scores).At; math.Abs(at-(own+.3)/2) > 1e-6 {
		t.Errorf("as many answers as count half: limit %v of %v and .3", at, own)
	}
	for i := range 3 * enough {
		answer("a", .3+.4*float32(i%2))
	}
	s.dimension = 2
	restored, err := Restore(s.settings, s.State())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Stream{s, restored} {
		if at := s.unknownLimit(&s.novelty.scores).At; math.Abs(at-(own+4*.7)/5) > 1e-6 {
			t.Errorf("limit %v of %v and four times as many answers up to .7", at, own)
		}
	}
}

// TestStrangersKeepToTheirKind: items that are as far from their examples as others are, but much nearer to each other,
// have a higher unknown score: few walks from them come to an example.
func TestStrangersKeepToTheirKind(t *testing.T) {
	var others, kind float64
	const known, alike = 60, 12
	for seed := range uint64(8) {
		f, s, items := newCamera(seed, 4, 32, .8), New("cam", settings(t)), []Item(nil)
		labels, one := f.labels(5), f.vector(0)
		for i := range known + alike {
			v := f.vector(i % 4)
			for j := range v {
				if i >= known {
					v[j] = one[j] + .05*float32(f.random.NormFloat64())
				}
			}
			items = append(items, Item{ID: fmt.Sprint(i), Vector: v, Position: Position{Offset: int64(i), Object: -1}})
		}
		answers, _ := answer(t, s, new(Engine), items, labels)
		for i, a := range answers {
			if i < known {
				others += a.UnknownScore / known
			} else {
				kind += a.UnknownScore / alike
			}
		}
	}
	if kind < 1.15*others {
		t.Errorf("unknown scores of items that are like each other %.3f, of others %.3f", kind/8, others/8)
	}
}
