package demo

import (
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// visit plays a minute of the demo by the solver alone, and teaches the newcomer by one click if taught is
// set.
func visit(t *testing.T, seed uint64, taught bool) (*Judge, []Score) {
	t.Helper()
	settings := stream.Defaults()
	judge := NewJudge(settings)
	engine := new(stream.Engine)
	stage, belt := stream.New("belt", settings), NewBelt(seed)
	labels := &stream.Labels{}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, stream.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector})
	}
	const episodes, size = 60, 40
	var scores []Score
	for n := range episodes {
		episode := make([]Judged, size)
		items := make([]stream.Item, size)
		var click *stream.Example
		for i := range size {
			p := belt.Next()
			e, err := p.Example()
			if err != nil {
				t.Fatal(err)
			}
			items[i] = stream.Item{ID: p.ID, Vector: e.Vector}
			episode[i].Item = items[i]
			about := About(e.Attributes)
			episode[i].Truth, episode[i].Stranger = about.Truth, about.Stranger
			if p.Thing == Newcomer && n*size > NewcomerAfter+200 {
				click = &stream.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector}
			}
		}
		answers, _, err := stage.Answer(t.Context(), engine, items, labels)
		if err != nil {
			t.Fatal(err)
		}
		for i := range answers {
			episode[i].Label, episode[i].Unknown = answers[i].Label, answers[i].Unknown
		}
		if scores, err = judge.Take(t.Context(), episode, labels); err != nil {
			t.Fatal(err)
		}
		if click != nil && taught {
			labels = &stream.Labels{Everyone: append(labels.Everyone[:len(labels.Everyone):len(labels.Everyone)],
				*click)}
			taught = false
		}
	}
	return judge, scores
}

// The first minute tells the story: memory is far above no memory and nearest prototype, few labels lift it
// further, and one click makes the newcomer known.
func TestFirstMinute(t *testing.T) {
	for seed := range uint64(1) {
		judge, scores := visit(t, 1+seed, true)
		stage, taught, without, nearest := &scores[0], &scores[1], &scores[2], &scores[3]
		t.Logf("seed %d: so far %.3f %.3f %.3f %.3f, of the last 500 %.3f %.3f %.3f %.3f, strangers %d of %d",
			1+seed, stage.Share(),
			taught.Share(), without.Share(), nearest.Share(), stage.LateShare(), taught.LateShare(),
			without.LateShare(),
			nearest.LateShare(), judge.SetAside, judge.Strangers)
		if stage.Share() < .85 || stage.LateShare() < without.LateShare()+.1 ||
			without.LateShare() < nearest.LateShare() {
			t.Errorf("seed %d: the gaps are not large", 1+seed)
		}
		if taught.LateShare() < stage.LateShare() || taught.LateShare() < .9 {
			t.Errorf("seed %d: few labels do not help", 1+seed)
		}
		if stage.LateOf != recent || judge.Strangers < 20 {
			t.Errorf("seed %d: %d of late, %d strangers", 1+seed, stage.LateOf, judge.Strangers)
		}
	}
}

// The judge counts the stage's own answers and nothing whose truth is unknown or that carried its label.
func TestJudge(t *testing.T) {
	judge := NewJudge(stream.Defaults())
	row := []float32{1, 2, 3}
	labels := &stream.Labels{Everyone: []stream.Example{
		{ID: "a", Label: "a", Vector: row},
		{ID: "b", Label: "b", Vector: []float32{3, 2, 1}},
	}}
	scores, err := judge.Take(t.Context(), []Judged{
		{Item: stream.Item{ID: "1", Vector: row}, Label: "a", Truth: "a"},
		{Item: stream.Item{ID: "2", Vector: row}, Label: "b", Truth: "a"},
		{Item: stream.Item{ID: "3", Vector: row}, Label: "a", Truth: ""},
		{Item: stream.Item{ID: "4", Vector: row, Label: "a"}, Label: "a", Truth: "a"},
		{Item: stream.Item{ID: "5", Vector: row}, Label: "a", Unknown: true, Stranger: true},
	}, labels)
	if err != nil {
		t.Fatal(err)
	}
	if s := scores[0]; s.Right != 1 || s.All != 2 || s.Late != 1 || s.LateOf != 2 || judge.Strangers != 1 ||
		judge.SetAside != 1 {
		t.Errorf("%+v, %d of %d strangers", s, judge.SetAside, judge.Strangers)
	}
	if s := scores[2]; s.All != 2 || s.Right != 2 {
		t.Errorf("without memory: %+v", s)
	}
}

// What no example shows is not answered as if it were sure: neither the newcomer nor strangers.
func TestNewThingsAreNotSure(t *testing.T) {
	settings := stream.Defaults()
	engine := new(stream.Engine)
	stage, belt := stream.New("belt", settings), NewBelt(1)
	labels := &stream.Labels{}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, stream.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector})
	}
	var sure, all [2]int // of known things, of new ones
	for range 40 {
		items, kinds := make([]stream.Item, 40), make([]int, 40)
		for i := range items {
			p := belt.Next()
			e, err := p.Example()
			if err != nil {
				t.Fatal(err)
			}
			items[i] = stream.Item{ID: p.ID, Vector: e.Vector}
			if p.stranger || p.Thing == Newcomer {
				kinds[i] = 1
			}
		}
		answers, _, err := stage.Answer(t.Context(), engine, items, labels)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if all[kinds[i]]++; a.Confidence > .9 {
				sure[kinds[i]]++
			}
		}
	}
	t.Logf("above .9: %v of %v", sure, all)
	if 20*sure[1] > all[1] || 8*sure[0] < all[0] {
		t.Errorf("above .9: %d of %d known things, %d of %d new ones", sure[0], all[0], sure[1], all[1])
	}
}
