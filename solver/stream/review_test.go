package stream

import (
	"fmt"
	"testing"

	"github.com/slkstream/slkstream/solver"
)

// TestReviewAsksOnceAGroup: of two groups without similar labels, review asks once about each, and about no
// known item. The rate holds over the stream.
func TestReviewAsksOnceAGroup(t *testing.T) {
	const d, n, rate = 32, 100, .03
	set := settings(t)
	set.ReviewRate = rate
	f := newCamera(5, 6, d, .3)
	labels := f.labels(2)
	labels.Everyone = labels.Everyone[:8] // classes 4 and 5 have no label
	s, e := New("s", set), new(Engine)
	asked := 0
	for episode := range 10 {
		var items []Item
		var truth []int
		for i := range n {
			class := i % 4
			if i%10 == 0 {
				class = 4 + i/10%2
			}
			items = append(
				items,
				Item{ID: fmt.Sprint(episode, i), Vector: f.vector(class), Position: Position{Offset: int64(episode*n + i), Object: -1}},
			)
			truth = append(truth, class)
		}
		answers, _ := answer(t, s, e, items, labels)
		groups := map[int]int{}
		for i, a := range answers {
			if a.Review {
				asked++
				groups[truth[i]]++
			}
		}
		if groups[4] == 0 || groups[5] == 0 {
			t.Errorf("episode %d: asked about %v, not about both of 4 and 5", episode, groups)
		}
		if allowed := rate * n * float64(episode+2); float64(asked) > allowed {
			t.Errorf("episode %d: %d items asked for, more than %g", episode, asked, allowed)
		}
	}
	if asked < 9*rate*n {
		t.Errorf("%d items asked for of %d", asked, 10*n)
	}
}

// TestReviewForSureAnswers: where sure answers are asked for, review asks about what is nearly sure, and
// otherwise about what is in doubt.
func TestReviewForSureAnswers(t *testing.T) {
	items, each := make([]Item, 3), [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	for i := range items {
		items[i].Vector = each[i]
	}
	solve, err := solver.New(settings(t).Solver)
	if err != nil {
		t.Fatal(err)
	}
	x, err := solve.Embed(&solver.Problem{Rows: solver.List(each), K: 3, Prior: &solver.Prior{
		Means: []float32{1, 0, 0, 0, 1, 0, 0, 0, 1}, Weights: []float32{1, 1, 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Confidence, r.Agreement = []float32{.99, .95, .2}, []float32{.99, .95, .2}
	for sure, want := range map[bool]int{true: 1, false: 2} {
		answers := []Answer{{UnknownScore: 1, Sure: sure}, {UnknownScore: 1}, {UnknownScore: 1}}
		set := Settings{ReviewRate: 1. / 3}
		if sure {
			set.MaxWrong = .1
		}
		new(review).answer(&episode{
			stream: New("s", set), engine: new(Engine), result: r, space: x, items: items, answers: answers,
		})
		for i, a := range answers {
			if a.Review != (i == want) {
				t.Errorf("sure %t: asked about %d: %t", sure, i, a.Review)
			}
		}
	}
}

// A long episode is asked about in parts, so that its memory does not grow with the square of its length.
func TestReviewOfALongEpisode(t *testing.T) {
	const d, n, rate = 8, 5 * reviewMost / 2, .01
	set := settings(t)
	set.ReviewRate = rate
	f := newCamera(2, 6, d, .3)
	labels := f.labels(2)
	items := make([]Item, n)
	for i := range items {
		items[i].Vector = f.vector(i % 6)
	}
	e := new(Engine)
	answers, _ := answer(t, New("s", set), e, items, labels)
	if cap(e.near) > reviewMost*reviewMost {
		t.Errorf("%d distances at once for %d items", cap(e.near), n)
	}
	var asked [5]int
	for i, a := range answers {
		if a.Review {
			asked[i*len(asked)/n]++
		}
	}
	for _, count := range asked[1:] { // the first items are least worth a label
		if share := float64(count) * float64(len(asked)) / n; count == 0 || share > 3*rate {
			t.Errorf("of %d items of each part %v were asked for", n/len(asked), asked)
		}
	}
}
