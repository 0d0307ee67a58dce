package web

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// A group is called most like what was taught since its items were answered, by the name that has now, if that is
// clearly nearer than all else, and for its streams. What changes no label is not looked for again.
func TestGroupsAreLikeWhatIsTaughtToday(t *testing.T) {
	answered := time.Unix(1000, 0)
	stranger := recent.Stranger{Found: recent.Found{Item: recent.Item{
		ID: "in/0/1", Name: "item:in/0/1", Stream: "door", Label: "trousers", Confidence: .71, Unknown: true, Time: answered,
	}, Vector: []float32{2, .2}}}
	trousers := record.Example{ID: "old", Label: "trousers", Vector: []float32{1, 1}}
	tag := func(vector ...float32) record.Example {
		return record.Example{ID: "new", Label: "tag", Vector: vector, At: answered.Add(time.Minute)}
	}
	elsewhere, early := tag(1, 0), tag(1, 0)
	elsewhere.Stream, early.At = "yard", answered.Add(-time.Minute)
	stage := &fakeStage{strangers: func() ([]recent.Stranger, error) { return []recent.Stranger{stranger}, nil }}
	p := pageOf(Options{Recent: recent.New(1 << 20)}, fakeStage{})
	p.stage = stage
	server := serving(t, p, Access{Loopback: true})
	like := func() (string, float64) {
		var v struct{ Groups []groupView }
		if err := json.NewDecoder(get(t, server, "/api/unknown").Body).Decode(&v); err != nil || len(v.Groups) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		return v.Groups[0].Middle.Label, v.Groups[0].Middle.Confidence
	}
	for name, c := range map[string]struct {
		examples []record.Example
		names    []record.Name
		want     string
	}{
		"nothing is taught":        {want: "trousers"},
		"taught since":             {examples: []record.Example{trousers, tag(3, 0)}, want: "tag"},
		"in any order":             {examples: []record.Example{tag(3, 0), tag(0, 1), trousers}, want: "tag"},
		"the only name":            {examples: []record.Example{tag(1, 0)}, want: "tag"},
		"by its name":              {[]record.Example{trousers, tag(1, 0)}, []record.Name{{Name: "tag", Into: "label"}}, "label"},
		"a name of both":           {[]record.Example{tag(1, .9), tag(1, 0)}, []record.Name{{Name: "tag", Into: "trousers"}}, "trousers"},
		"known when it was asked":  {examples: []record.Example{trousers, early}, want: "trousers"},
		"for another stream":       {examples: []record.Example{trousers, elsewhere}, want: "trousers"},
		"not clearly nearer":       {examples: []record.Example{{ID: "old", Label: "coat", Vector: []float32{1, .1}}, tag(1, .1)}, want: "trousers"},
		"of another dimension":     {examples: []record.Example{trousers, tag(1, 0, 0)}, want: "trousers"},
		"nearest, but not similar": {examples: []record.Example{tag(-1, 0)}, want: "trousers"},
	} {
		stage.examples, stage.names, stage.version = c.examples, c.names, new(labels.Version)
		got, confidence := like()
		if got != c.want || got != "trousers" && (confidence < .9 || confidence > 1) || got == "trousers" && confidence != .71 {
			t.Errorf("%s: most like %s, %v", name, got, confidence)
		}
		stage.examples = append(stage.examples, tag(10, 1)) // of a version that is not in force
		if again, _ := like(); again != got {
			t.Errorf("%s: most like %s, and then %s", name, got, again)
		}
	}
}
