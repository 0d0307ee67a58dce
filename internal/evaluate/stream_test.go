package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// drawnSet returns n rows of classes around fixed centres, in random order. Every twentieth row has no class.
func drawnSet(n, classes, d int) *Set {
	random := rand.New(rand.NewPCG(5, 6))
	centres := make([][]float32, classes)
	for c := range centres {
		for range d {
			centres[c] = append(centres[c], float32(random.NormFloat64()))
		}
	}
	s := &Set{Name: "drawn", N: n, D: d}
	for i := range n {
		c := int32(random.IntN(classes))
		for j := range d {
			s.Rows = append(s.Rows, centres[c][j]+float32(.8*random.NormFloat64()))
		}
		if i%20 == 19 {
			c = -1
		}
		s.Labels = append(s.Labels, c)
	}
	return s
}

func plain() StreamProtocol {
	return StreamProtocol{Order: "rows", Episode: 30, Shots: 2, SupportBy: "class", TeachBy: "random"}
}

func drawTrial(t *testing.T, p StreamProtocol, set *Set) *Trial {
	t.Helper()
	trial, err := p.Draw(set, 3)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

func TestStreamDraw(t *testing.T) {
	set := drawnSet(600, 8, 6)
	rowsOf := func(trial *Trial) map[int32]bool {
		out := map[int32]bool{}
		for _, item := range trial.Items {
			if out[item.Row] && item.Row >= 0 {
				t.Errorf("row %d comes twice", item.Row)
			}
			out[item.Row] = true
		}
		return out
	}
	base := drawTrial(t, plain(), set)
	if len(base.Supports) != 16 || len(base.Items) != 570-16 {
		t.Fatalf("%d supports, %d items", len(base.Supports), len(base.Items))
	}
	for i, row := range base.SupportRows {
		if rowsOf(base)[row] || set.Labels[row] != base.SupportLabels[i] {
			t.Errorf("support %d is in the stream, or of another class", row)
		}
	}
	for i, item := range base.Items {
		if i > 0 && item.Row <= base.Items[i-1].Row || item.Truth != set.Labels[item.Row] || !item.Known ||
			item.Taught {
			t.Errorf("item %d: %+v", i, item)
		}
	}
	count := func(p StreamProtocol, of func(StreamItem) bool) (n int) {
		for _, item := range drawTrial(t, p, set).Items {
			if of(item) {
				n++
			}
		}
		return n
	}
	p := plain()
	p.SupportBy = "first"
	first := drawTrial(t, p, set)
	seen := map[int32]int{}
	for row, y := range set.Labels { // the first ten rows of every class leave the stream, used or not
		if y < 0 {
			continue
		}
		if seen[y]++; seen[y] <= 10 && rowsOf(first)[int32(row)] || seen[y] > 10 && !rowsOf(first)[int32(row)] {
			t.Errorf("row %d, number %d of its class", row, seen[y])
		}
		if slices.Contains(first.SupportRows, int32(row)) && seen[y] > 10 {
			t.Errorf("support %d is number %d of its class", row, seen[y])
		}
	}
	p = plain()
	p.SupportBy, p.Groups = "group", make([]int32, set.N)
	for i := range p.Groups {
		p.Groups[i] = int32(i % 7)
	}
	grouped := drawTrial(t, p, set)
	from := map[int32]map[int32]bool{}
	for i, row := range grouped.SupportRows {
		y := grouped.SupportLabels[i]
		if from[y] == nil {
			from[y] = map[int32]bool{}
		}
		from[y][p.Groups[row]] = true
	}
	for y, groups := range from {
		if len(groups) > 2 {
			t.Errorf("class %d: supports of %d groups", y, len(groups))
		}
	}
	for _, item := range grouped.Items {
		if from[item.Truth][p.Groups[item.Row]] {
			t.Errorf("row %d is of a group that supports were drawn from", item.Row)
		}
	}
	p = plain()
	p.Teach = .1
	if n := count(p, func(i StreamItem) bool { return i.Taught }); n != 55 {
		t.Errorf("%d of 554 items taught", n)
	}
	p = plain()
	p.UnlabelledClasses, p.Teach = .25, 1
	held := drawTrial(t, p, set)
	unknown := map[int32]bool{}
	for _, item := range held.Items {
		if !item.Known {
			unknown[item.Truth] = true
		}
		if item.Taught != item.Known || slices.Contains(held.SupportLabels, item.Truth) != item.Known {
			t.Errorf("item of class %d: %+v", item.Truth, item)
		}
	}
	if len(unknown) != 2 {
		t.Errorf("%d of 8 classes held out", len(unknown))
	}
	p = plain()
	p.Absent = .75
	present := map[int32]bool{}
	for _, item := range drawTrial(t, p, set).Items {
		present[item.Truth] = true
	}
	if len(present) != 2 || len(drawTrial(t, p, set).Supports) != 16 {
		t.Errorf("%d of 8 classes come", len(present))
	}
	p = plain()
	p.WrongSupports = .25
	wrong := 0
	for i, row := range drawTrial(t, p, set).SupportRows {
		if drawTrial(t, p, set).SupportLabels[i] != set.Labels[row] {
			wrong++
		}
	}
	if wrong != 4 {
		t.Errorf("%d of 16 supports wrong", wrong)
	}
	p = plain()
	p.Garbage = 3
	noisy := drawTrial(t, p, set)
	if n := count(p, func(i StreamItem) bool { return !i.Class() }); n != 90 ||
		len(noisy.Episodes) != len(base.Episodes)+3 {
		t.Errorf("%d items of noise", n)
	}
	for number, episode := range noisy.Episodes {
		for _, i := range episode {
			if noise := !noisy.Items[i].Class(); noise != !noisy.Items[episode[0]].Class() || noise && number == 0 {
				t.Errorf("episode %d: noise among items, or first", number)
			}
		}
	}
	p = plain()
	p.Drift = .5
	drifted := drawTrial(t, p, set)
	moved := func(i int) (d float64) {
		for j, v := range drifted.Items[i].Vector {
			d += math.Abs(float64(v - base.Items[i].Vector[j]))
		}
		return d
	}
	if first, last := moved(0), moved(len(base.Items)-1); first != 0 || last < 1 {
		t.Errorf("the first item moved by %g, the last by %g", first, last)
	}
}

func TestStreamOrders(t *testing.T) {
	set := drawnSet(600, 8, 6)
	p := plain()
	p.Order = "class"
	changes := 0
	items := drawTrial(t, p, set).Items
	for i := 1; i < len(items); i++ {
		if items[i].Truth != items[i-1].Truth {
			changes++
		}
	}
	if changes != 7 {
		t.Errorf("one class at a time: %d changes between 8 classes", changes)
	}
	p.Order, p.Shots = "bursts", 0
	items = drawTrial(t, p, set).Items
	// three bursts of at least eight: never many classes at once
	for from := 0; from+24 < len(items)/2; from += 24 {
		classes := map[int32]bool{}
		for _, item := range items[from : from+8] {
			classes[item.Truth] = true
		}
		if len(classes) > 5 {
			t.Errorf("items %d to %d: %d classes", from, from+8, len(classes))
		}
	}
	p.Order = "given"
	for i := range int32(set.N) {
		p.Given = append(p.Given, int32(set.N)-1-i)
	}
	items = drawTrial(t, p, set).Items
	if items[0].Row < items[len(items)-1].Row {
		t.Errorf("not in the order given")
	}
	p.Given[3] = p.Given[4]
	if _, err := p.Draw(set, 1); err == nil {
		t.Errorf("an order with a row twice is accepted")
	}
}

func TestStreamProtocolFaults(t *testing.T) {
	for name, change := range map[string]func(*StreamProtocol){
		"order":      func(p *StreamProtocol) { p.Order = "random" },
		"support-by": func(p *StreamProtocol) { p.SupportBy = "luck" },
		"teach-by":   func(p *StreamProtocol) { p.TeachBy = "luck" },
		"episode":    func(p *StreamProtocol) { p.Episode = 0 },
		"shots":      func(p *StreamProtocol) { p.Shots = -1 },
		"first":      func(p *StreamProtocol) { p.SupportBy, p.Shots = "first", 11 },
		"drift":      func(p *StreamProtocol) { p.Drift = math.NaN() },
		"absent":     func(p *StreamProtocol) { p.Absent = 1.1 },
		"all absent": func(p *StreamProtocol) { p.Absent = 1 },
		"min-rows":   func(p *StreamProtocol) { p.MinRows = 1000 },
	} {
		p := plain()
		change(&p)
		if _, err := p.Draw(drawnSet(100, 4, 4), 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func stage(t *testing.T, p StreamProtocol, warm bool) *Stream {
	t.Helper()
	settings := stream.Defaults()
	settings.Solver.Check = true
	settings.Warm = warm
	return &Stream{Protocol: p, Settings: settings, Method: string(settings.Solver.Method)}
}

// No label of a scored item reaches a method: changing all of them changes no answer.
func TestNoLabelLeaks(t *testing.T) {
	set := drawnSet(500, 6, 16)
	for _, p := range []StreamProtocol{
		{Order: "bursts", Episode: 40, Shots: 2, SupportBy: "class", Teach: .05, TeachBy: "random"},
		{
			Order: "rows", Episode: 25, Shots: 1, SupportBy: "first", Teach: .05, TeachBy: "later",
			UnlabelledClasses: .3, Garbage: 1,
		},
		{Order: "rows", Episode: 40, SupportBy: "class", TeachBy: "random"},
	} {
		for _, method := range append([]string{"slk-means"}, Rivals...) {
			s := stage(t, p, true)
			answer := func(trial *Trial) []stream.Answer {
				var answers []stream.Answer
				var err error
				if method == "slk-means" {
					answers, err = s.remember(context.Background(), trial, &StreamResult{})
				} else {
					answers, err = trial.rival(context.Background(), method)
				}
				if err != nil {
					t.Fatal(err)
				}
				return answers
			}
			trial := drawTrial(t, p, set)
			want := answer(trial)
			trial = drawTrial(t, p, set)
			for i := range trial.Items {
				if !trial.Items[i].Taught {
					trial.Items[i].Truth = 5 - trial.Items[i].Truth
				}
			}
			if !reflect.DeepEqual(answer(trial), want) {
				t.Errorf("%s, %+v: answers change with the labels of scored items", method, p)
			}
		}
	}
}

// Rivals give no name until they have seen a label.
func TestRivalsWithoutLabels(t *testing.T) {
	set := drawnSet(120, 4, 8)
	p := StreamProtocol{Order: "rows", Episode: 40, SupportBy: "class", TeachBy: "random"}
	for _, method := range Rivals {
		answers, err := drawTrial(t, p, set).rival(context.Background(), method)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Label != "" {
				t.Fatalf("%s: item %d is %q", method, i, a.Label)
			}
		}
	}
}

// A whole run: warm is better than cold, which is better than chance; R never rises; the figures are present.
func TestStreamRun(t *testing.T) {
	set := drawnSet(900, 8, 24)
	p := plain()
	p.Teach, p.UnlabelledClasses = .05, .25
	run := func(p StreamProtocol, warm bool) StreamResult {
		r, err := stage(t, p, warm).Run(context.Background(), set, 2)
		if err != nil {
			t.Fatal(err)
		}
		if r.ObjectiveRises != 0 {
			t.Errorf("R rose %d times", r.ObjectiveRises)
		}
		return r
	}
	warm, cold := run(p, true), run(p, false)
	if *warm.Accuracy < *cold.Accuracy-.01 || *cold.Accuracy < .8 || *warm.UnknownAUROC < .8 || *warm.ECE > .2 {
		t.Errorf("warm %s, cold %s", line(warm), line(cold))
	}
	if warm.Taught == 0 || warm.Calibrated == 0 || warm.StateBytes == 0 || cold.Admitted != 0 {
		t.Errorf("warm %s, cold %s", line(warm), line(cold))
	}
	p = plain()
	p.Shots = 0
	found := run(p, true)
	if *found.NMI < .7 || *found.PairF1 < .6 || found.Clusters < 4 || found.Accuracy != nil {
		t.Errorf("clusters %s", line(found))
	}
	p = plain()
	p.Teach, p.TeachBy = .1, "review"
	r := run(p, true)
	if r.Taught < 40 || r.Taught > 100 || r.N+r.Taught > 855-16 {
		t.Errorf("review %s", line(r))
	}
	// The items asked for were answered too, and AccuracyAll includes them.
	right, all := *r.Accuracy*float64(r.N), *r.AccuracyAll*float64(r.N+r.Taught)
	if all < right-.5 || all > right+float64(r.Taught)+.5 || warm.AccuracyAll != nil {
		t.Errorf("%g right of all, %g without the %d asked for", all, right, r.Taught)
	}
}

func line(r StreamResult) string {
	value := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	return fmt.Sprintf("accuracy %.3f auroc %.3f ece %.3f nmi %.3f f1 %.3f clusters %d taught %d n %d",
		value(r.Accuracy), value(r.UnknownAUROC), value(r.ECE), value(r.NMI), value(r.PairF1), r.Clusters, r.Taught, r.N)
}

func TestStreamScores(t *testing.T) {
	same := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, not %g", name, got, want)
		}
	}
	same("auroc", auroc([]float64{1, 2, 3, 4}, []bool{false, true, false, true}), .75)
	same("auroc of ties", auroc([]float64{1, 1, 1}, []bool{false, true, true}), .5)
	if !math.IsNaN(auroc([]float64{1}, []bool{true})) {
		t.Errorf("auroc of one kind is a number")
	}
	same("ece", ece([]float64{.95, .95, .05, .05}, []bool{true, false, false, true}), .45)
	same("ece of the sure and right", ece([]float64{1, 1}, []bool{true, true}), 0)
	same("pair f1", PairF1([]int32{0, 0, 0, 1}, []int32{0, 0, 1, 1}), .4)
	if n := IDSwitches([]int32{0, 0, 1, 0, 1}, []int32{7, 7, 3, 8, 3}); n != 1 {
		t.Errorf("%d id switches", n)
	}
}

// Newcomers have no support and come in the second half only; the rest is unchanged.
func TestNewcomers(t *testing.T) {
	set := drawnSet(600, 8, 6)
	p := plain()
	base := drawTrial(t, p, set)
	p.Newcomers = .25
	trial := drawTrial(t, p, set)
	late := map[int32]bool{}
	for i, item := range trial.Items {
		if !item.Known {
			late[item.Truth] = true
		}
		if !item.Known && i < trial.Half {
			t.Errorf("item %d of class %d comes early", i, item.Truth)
		}
	}
	if len(late) != 2 || len(trial.Supports) != 12 || trial.Half < 150 || trial.Half > 300 {
		t.Errorf("%d late classes, %d supports, half %d", len(late), len(trial.Supports), trial.Half)
	}
	var were, are int // items of the other classes
	for _, item := range base.Items {
		if !late[item.Truth] {
			were++
		}
	}
	for _, item := range trial.Items {
		if item.Known {
			are++
		}
	}
	if were != are {
		t.Errorf("%d items of other classes, not %d", are, were)
	}
	run := Stream{Protocol: p, Settings: stream.Defaults()}
	r, err := run.Run(t.Context(), set, 3)
	if err != nil || r.UnknownSure == nil || r.BeforeHalf == nil || r.AfterHalf == nil {
		t.Errorf("%+v: %v", r, err)
	}
}
