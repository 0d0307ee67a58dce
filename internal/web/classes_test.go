package web

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// Classes are listed with their examples, recent items and the class that they are confused with, up to a
// bound; examples with their pictures, the latest first.
func TestClasses(t *testing.T) {
	var examples []record.Example
	for i := range mostExamples + 3 {
		examples = append(examples, record.Example{
			ID: fmt.Sprint("e", i), Label: "anna", By: "jo",
			At: time.Unix(int64(i), 0),
		})
	}
	for i := range mostLabels + 5 {
		examples = append(examples, record.Example{ID: fmt.Sprint("one", i), Label: fmt.Sprint("c", i)})
	}
	examples[1].Attributes = json.RawMessage(`{"image":"data:image/png;base64,AA"}`)
	store := recent.New(1 << 20)
	items := []recent.Item{
		{ID: "in/0/0", Name: "e2", Label: "anna", Attributes: []byte(`{"image":"data:image/png;base64,BB"}`)},
		{ID: "in/0/1", Name: "x", Label: "anna"},
		{ID: "in/0/2", Name: "y", Label: "anna", Unknown: true},
	}
	store.Open("in/0").Add(recent.NewBlock(items, func(int) []float32 { return []float32{1, 1} }))
	stage := &fakeStage{
		examples: examples, rejections: []record.NotThis{{ID: "r", Not: []string{"kim", "anna"}}},
		counts: func() (of, not map[string]int) {
			of = map[string]int{}
			for i := range examples {
				of[examples[i].Label]++
			}
			return of, map[string]int{"kim": 1, "anna": 1}
		},
	}
	p := New(Options{Recent: store})
	p.stage = stage
	result := record.Result{Label: "anna", Alternatives: []record.Alternative{{
		Label:      "kim",
		Confidence: .25,
	}, {Label: "bo", Confidence: .01}}}
	p.told([]record.Result{result, result, {
		Label:        "kim",
		Alternatives: []record.Alternative{{Label: "anna", Confidence: .5}},
	}}, nil, false)
	server := serving(t, p, Access{Loopback: true})
	var named struct{ Classes []classView }
	if err := json.NewDecoder(get(t, server, "/api/names").Body).Decode(&named); err != nil {
		t.Fatal(err)
	}
	if len(named.Classes) != mostLabels || named.Classes[0].Class != "anna" {
		t.Fatalf("%d classes, the first %+v", len(named.Classes), named.Classes[0])
	}
	anna := named.Classes[0]
	if anna.Confused == nil || *anna.Confused != (confusedView{"kim", 1}) {
		t.Errorf("confused with %+v", anna.Confused)
	}
	if anna.Confused = nil; anna != (classView{
		Class: "anna", Examples: mostExamples + 3, Rejections: 1,
		Recent: 2,
	}) {
		t.Errorf("%+v", anna)
	}
	var of struct {
		Examples, Rejections []exampleView
		All                  int
	}
	if err := json.NewDecoder(get(t, server, "/api/examples?class=anna").Body).Decode(&of); err != nil {
		t.Fatal(err)
	}
	if len(of.Examples) != mostExamples || of.All != mostExamples+3 || len(of.Rejections) != 1 ||
		of.Examples[0].ID != "e202" ||
		of.Examples[0].By != "jo" || of.Examples[0].At.Unix() != 202 || of.Examples[0].Image != "" {
		t.Errorf("%d of %d examples, the first %+v, rejections %+v", len(of.Examples), of.All, of.Examples[0],
			of.Rejections)
	}
	stage.examples = examples[:3]
	if err := json.NewDecoder(get(t, server, "/api/examples?class=anna").Body).Decode(&of); err != nil {
		t.Fatal(err)
	}
	if of.Examples[0].Image != "data:image/png;base64,BB" || of.Examples[1].Image != "data:image/png;base64,AA" {
		t.Errorf("pictures: %+v", of.Examples)
	}
	if code := get(t, server, "/api/examples").StatusCode; code != 400 {
		t.Errorf("of no class: %d", code)
	}
}

// An example deleted on the page, or an item rejected there, can be taught again by its id alone.
func TestTakenBackIsAtHand(t *testing.T) {
	inForce := true
	p := pageOf(Options{}, fakeStage{example: func(id string) (record.Example, bool) {
		return record.Example{ID: id, Label: "anna", Stream: "door", Vector: []float32{1, 2}}, inForce
	}})
	for i := range 2 * mostExamples {
		p.keepTakenBack(fmt.Sprint(i))
	}
	p.keepTakenBack("e")
	inForce = false
	p.keepTakenBack("none")
	if f, err := p.find("e"); err != nil || f.Label != "anna" || f.Stream != "door" || f.seenIn != "door" ||
		len(p.takenBack) != mostExamples {
		t.Errorf("%+v, %d are kept", f, len(p.takenBack))
	}
	if _, err := p.find("none"); err == nil {
		t.Error("nothing was found")
	}
}

// A forgotten name is removed from the page too, with each class that people gave it to: whether it was
// forgotten on the page or elsewhere.
func TestForgettingANameClearsThePage(t *testing.T) {
	t.Run("on the page", func(t *testing.T) {
		testForgetting(t, func(t *testing.T, p *Page, _ *fakeStage) {
			server := serving(t, p, Access{Loopback: true})
			if code, text := post(t, server, "/api/names/forget", `{"name":"anna"}`); code != 200 {
				t.Fatal(code, text)
			}
		})
	})
	t.Run("elsewhere", func(t *testing.T) {
		testForgetting(t, func(_ *testing.T, p *Page, stage *fakeStage) {
			now := time.Now()
			p.forgetElsewhere(now)
			stage.names = []record.Name{{Name: "anna", At: now}}
			p.forgetElsewhere(now.Add(time.Second))
		})
	})
}

// A name that was forgotten before the page began, or some seconds ago, may be in use again.
func TestANameForgottenLongAgo(t *testing.T) {
	now := time.Now()
	stage := &fakeStage{names: []record.Name{{Name: "cat", At: now.Add(-time.Hour)}}}
	p := New(Options{})
	p.stage = stage
	waits := func() bool { _, err := p.find("q"); return err == nil }
	after := func(d time.Duration) { p.forgetElsewhere(now.Add(d)) }
	p.questions.Ask(review("q"))
	after(0)
	after(time.Second)
	if !waits() {
		t.Error("forgotten before the page began")
	}
	stage.names[0].At = now
	after(2 * time.Second)
	p.questions.Ask(review("q")) // answered before its stream knew
	after(3 * time.Second)
	if waits() {
		t.Error("answered before its stream knew that the name is forgotten, and kept")
	}
	p.questions.Ask(review("q"))
	after(time.Minute)
	if !waits() {
		t.Error("taught again, and not asked about")
	}
}

func testForgetting(t *testing.T, forget func(*testing.T, *Page, *fakeStage)) {
	inForce := map[string]string{"e1": "anna", "e2": "bob", "e3": "cluster-17"}
	stage := &fakeStage{
		example: func(id string) (record.Example, bool) {
			label, ok := inForce[id]
			return record.Example{ID: id, Label: label, Vector: []float32{1, 2}}, ok
		},
		names: []record.Name{{Name: "cluster-17", Into: "annie"}, {Name: "annie", Into: "anna"}},
	}
	p := New(Options{
		Say:        func(context.Context, []record.Out) error { return nil },
		ForgetName: func(context.Context, record.Name) ([]record.Receipt, error) { return nil, nil },
	})
	p.stage = stage
	for id, label := range map[string]string{"a": "anna", "b": "bob", "c": "cluster-17"} {
		q := review("q" + id)
		q.Guess.Label = label
		q.Guess.Alternatives = []record.Alternative{{Label: "anna", Confidence: .4}, {Label: "dog", Confidence: .2}}
		p.questions.Ask(q)
		p.questions.labelled("t"+id, label, "")
		result := record.Result{ID: "in/0/" + id, Label: label, Alternatives: q.Guess.Alternatives}
		p.shown.add(&item{Result: result, Example: id})
		p.questions.Named([]record.Result{result})
	}
	under := review("qd") // answered under another name
	under.Guess.Label, under.Guess.Class = "dora", "cluster-17"
	p.questions.Ask(under)
	p.shown.add(&item{Result: record.Result{ID: "in/0/d", Label: "dora", Class: "cluster-17"}, Example: "d"})
	for id := range inForce {
		p.keepTakenBack(id)
	}
	clear(inForce)
	forget(t, p, stage)
	for id, kept := range map[string]bool{
		"e1": false, "e2": true, "e3": false, "in/0/a": false, "in/0/b": true, "in/0/c": false,
		"qa": false, "qb": true, "qc": false, "in/0/d": false, "qd": false,
	} {
		if _, err := p.find(id); (err == nil) != kept {
			t.Errorf("%s is at hand: %v", id, err)
		}
	}
	for _, id := range []string{"in/0/b", "qb"} {
		if f, _ := p.find(id); f.runnerUp != "dog" {
			t.Errorf("%s may be %q", id, f.runnerUp)
		}
	}
	if other := p.questions.confused()["bob"].Label; other != "dog" {
		t.Errorf("confused with %q", other)
	}
	if said := p.questions.taught; len(said) != 1 || said[0].Label != "bob" {
		t.Errorf("%d answers of people are kept", len(said))
	}
}
