package stream

import (
	"fmt"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// An item that a person has named, and that is answered again, is called that, whatever is near it: under the
// key of its place or the id of its result. The id of no other item does so, and a name of the stream counts.
func TestItemsThatPeopleHaveNamed(t *testing.T) {
	f := newCamera(5, 3, 16, .3)
	items, _ := f.episode(30, 0)
	for i := range items {
		items[i].Result = fmt.Sprintf("in/0/%d", i)
		items[i].ID = "item:" + items[i].Result
	}
	ids := map[int]string{0: "item:in/0/0", 1: "in/0/1", 2: "0", 3: "in/0/33"} // of items of several classes
	people := taught.Changes{}
	for i, id := range ids {
		people.Examples = append(people.Examples, taught.Change{
			Example: taught.Example{ID: id, Label: "eve", Vector: items[i].Vector},
		})
	}
	only := (&taught.Labels{}).With(people) // one class: clusters answer
	many := f.labels(20).With(people)
	for name, labels := range map[string]*taught.Labels{
		"one class": only, "classes": many, "names": named(t, many, taught.Name{Stream: "cam", Name: "eve", Into: "anna"}),
	} {
		want := "eve"
		if name == "names" {
			want = "anna"
		}
		set := settings(t)
		set.Discover, set.ReviewRate = true, 1
		answers, report := answer(t, New("cam", set), new(Engine), items, labels)
		unknown := 0
		for i, a := range answers {
			if a.Unknown {
				unknown++
			}
			if i < 2 && (a.Label != want || a.Class != "eve" || a.Confidence != 1 || a.Unknown || a.Review || a.Alternatives != nil) {
				t.Errorf("%s: item %d, which a person named eve: %+v", name, i, a)
			}
			if i >= 2 && a.Confidence == 1 && a.Label == want {
				t.Errorf("%s: item %d, which nobody named: %+v", name, i, a)
			}
		}
		if unknown != report.Unknown {
			t.Errorf("%s: %d are unknown, the report says %d", name, unknown, report.Unknown)
		}
	}
}
