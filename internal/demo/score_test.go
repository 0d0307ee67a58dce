package demo

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/sample"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Plays of the demo by the solver alone: five, or twenty with SLKSTREAM_TEST_LONG. In no window of 500 things is the stage more than two points
// below the nearest labelled example, from the first episode on; in the end it is well above, and one click has
// made the newcomer known to all three cameras.
func TestNeverBelowTheNearestExample(t *testing.T) {
	plays := uint64(5)
	if os.Getenv("SLKSTREAM_TEST_LONG") != "" {
		plays = 20
	}
	for seed := range plays {
		t.Run(fmt.Sprint("seed ", 1+seed), func(t *testing.T) {
			t.Parallel()
			worst := 0.
			board := play(t, 1+seed, func(b Board) {
				if b.All[0].LateOf == recent {
					worst = max(worst, b.All[1].LateShare()-b.All[0].LateShare())
				}
			})
			stage, nearest := &board.All[0], &board.All[1]
			t.Logf("so far %.3f and %.3f, of the last 500 %.3f and %.3f, at worst %.3f below it; %.3f without a name",
				stage.Share(), nearest.Share(), stage.LateShare(), nearest.LateShare(), worst, board.Aside.Share())
			for _, c := range NewCameras(1) {
				p := board.Cameras[c.Name]
				t.Logf("%s: %.3f and %.3f", c.Name, p[0].Share(), p[1].Share())
			}
			if worst > .02 {
				t.Errorf("%.3f below", worst)
			}
			if stage.Share() < nearest.Share()+.05 {
				t.Errorf("the gap is not large: %.3f and %.3f", stage.Share(), nearest.Share())
			}
			if board.Called != "found it" {
				t.Errorf("the newcomer is called %q", board.Called)
			}
		})
	}
}

// play plays two minutes of the demo and names the newcomer by one click. each is told the score after each
// episode.
func play(t *testing.T, seed uint64, each func(Board)) Board {
	t.Helper()
	const episodes, size = 50, 40 // of each camera
	judge, engine, settings := NewJudge(), new(stream.Engine), stream.Defaults()
	cameras := NewCameras(seed)
	var stages []*stream.Stream
	for _, c := range cameras {
		stages = append(stages, stream.New(c.Name, settings))
	}
	labels := firstLabels(t, cameras[0].Belt)
	named := false
	var board Board
	for range episodes {
		for at, c := range cameras {
			episode, items := make([]Judged, size), make([]stream.Item, size)
			click := -1
			for i := range size {
				episode[i] = judged(c.Next())
				if items[i] = episode[i].Item; episode[i].Truth == Newcomer {
					click = i
				}
			}
			answers, _, err := stages[at].Answer(t.Context(), engine, items, labels)
			if err != nil {
				t.Fatal(err)
			}
			stages[at].Learn()
			for i := range answers {
				episode[i].Label, episode[i].Unknown = answers[i].Label, answers[i].Unknown
			}
			board = judge.Take(c.Name, episode, labels)
			each(board)
			if click >= 0 && !named {
				named = true
				e := taught.Example{ID: items[click].ID, Label: "found it", Vector: items[click].Vector}
				labels = &taught.Labels{Everyone: append(slices.Clone(labels.Everyone), e)}
			}
		}
	}
	return board
}

// firstLabels are the labels of the things before the first click.
func firstLabels(t *testing.T, belt *Belt) *taught.Labels {
	t.Helper()
	labels := &taught.Labels{}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, taught.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector})
	}
	return labels
}

// judged is a picture before it is answered.
func judged(p Picture) Judged {
	item := stream.Item{ID: p.ID, Vector: sample.HOG(p.Pixels, p.side)}
	return Judged{Item: item, Truth: p.Thing, Stranger: p.stranger}
}

// The judge counts nothing whose truth is unknown or that carried its label, and the newcomer once somebody has
// named it, by whatever name.
func TestJudge(t *testing.T) {
	judge := NewJudge()
	row := []float32{1, 2, 3}
	labels := &taught.Labels{Everyone: []taught.Example{
		{ID: "a", Label: "a", Vector: row},
		{ID: "b", Label: "b", Vector: []float32{3, 2, 1}},
	}}
	episode := []Judged{
		{Item: stream.Item{ID: "1", Vector: row}, Label: "a", Truth: "a"},
		{Item: stream.Item{ID: "2", Vector: row}, Label: "b", Unknown: true, Truth: "a"},
		{Item: stream.Item{ID: "3", Vector: row}, Label: "a", Truth: ""},
		{Item: stream.Item{ID: "4", Vector: row, Label: "a"}, Label: "a", Truth: "a"},
		{Item: stream.Item{ID: "5", Vector: row}, Label: "a", Unknown: true, Stranger: true},
		{Item: stream.Item{ID: "6", Vector: []float32{0, 0, 1}}, Label: "a", Truth: Newcomer},
	}
	board := judge.Take("left", episode, labels)
	if s := board.All[0]; s.Right != 1 || s.All != 2 || s.Late != 1 || s.LateOf != 2 || judge.Strangers != 1 ||
		judge.SetAside != 1 {
		t.Errorf("%+v, %d of %d strangers", s, judge.SetAside, judge.Strangers)
	}
	if s := board.All[1]; s.All != 2 || s.Right != 2 {
		t.Errorf("the nearest example: %+v", s)
	}
	if s := board.Aside; s.Late != 1 || s.LateOf != 2 {
		t.Errorf("without a name: %+v", s)
	}
	labels = &taught.Labels{Everyone: append(labels.Everyone, taught.Example{ID: "6", Label: "nine", Vector: []float32{0, 0, 1}})}
	episode[5].Label = "nine"
	board = judge.Take("right", episode, labels)
	if s := board.Cameras["right"][0]; s.All != 3 || s.Right != 2 || board.All[0].All != 5 || board.Called != "nine" {
		t.Errorf("named: %+v", board)
	}
}

// What no example shows is not answered as if it were sure: neither the newcomer nor strangers.
func TestNewThingsAreNotSure(t *testing.T) {
	settings := stream.Defaults()
	engine := new(stream.Engine)
	stage, belt := stream.New("belt", settings), NewBelt(1)
	labels := firstLabels(t, belt)
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
	if 20*sure[1] > all[1] || 12*sure[0] < all[0] {
		t.Errorf("above .9: %d of %d known things, %d of %d new ones", sure[0], all[0], sure[1], all[1])
	}
}
