package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// The reasons for an answer are the nearest examples of its label and of the runner-up, of
// its stream and model.
func TestWhy(t *testing.T) {
	examples := []record.Example{
		{ID: "elsewhere", Label: "dog", Stream: "yard", Vector: []float32{1, 0}},
		{ID: "other model", Label: "dog", Model: "m2", Vector: []float32{1, 0}},
		{ID: "short", Label: "dog", Vector: []float32{1}},
		{ID: "asked", Label: "dog", Vector: []float32{1, 0}},
		{ID: "zero", Label: "hen", Vector: []float32{0, 0}},
		{ID: "c", Label: "cat", Vector: []float32{0, 2}},
	}
	for i := range 6 {
		examples = append(examples, record.Example{ID: fmt.Sprint("d", i), Label: "dog", Vector: []float32{
			3,
			float32(6 - i),
		}})
	}
	p := pageOf(Options{}, fakeStage{examples: examples})
	asked := record.Review{
		ID: "asked", Stream: "door", Model: "m", Vector: []float32{2, 0},
		Guess: record.Guess{Label: "dog", Alternatives: []record.Alternative{{Label: "cat"}}},
	}
	alone := asked
	alone.ID, alone.Guess = "alone", record.Guess{Label: "cat"}
	bare := alone
	bare.ID, bare.Model = "bare", ""
	p.told(nil, []record.Review{asked, alone, bare}, false)
	server := serving(t, p, Access{Loopback: true})
	why := func(id string) (out []string) {
		t.Helper()
		var v struct{ Reasons []reasonView }
		if err := json.NewDecoder(get(t, server, "/api/why?id="+id).Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		for _, r := range v.Reasons {
			for _, e := range r.Examples {
				out = append(out, r.Label+" "+e.ID)
			}
		}
		return out
	}
	if got := why("asked"); !slices.Equal(got, []string{"dog d5", "dog d4", "dog d3", "dog d2", "cat c"}) {
		t.Errorf("%q", got)
	}
	if got := why("alone"); len(got) < 2 || got[0] != "cat c" || got[1] != "dog asked" {
		t.Errorf("with no alternative: %q", got)
	}
	if got := why("bare"); len(got) < 2 || slices.Contains(got, "dog other model") {
		t.Errorf("without a model, which no example of one serves: %q", got)
	}
	if code := get(t, server, "/api/why").StatusCode; code != http.StatusBadRequest {
		t.Errorf("without an id: %d", code)
	}
	if code := get(t, server, "/api/why?id=gone").StatusCode; code != http.StatusNotFound {
		t.Errorf("of what is gone: %d", code)
	}
}
