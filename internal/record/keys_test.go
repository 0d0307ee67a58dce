package record

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Keys of items, of streams' ids and of names never meet, whatever ids and streams are called.
func TestKeysNeverMeet(t *testing.T) {
	words := []string{"", "a", "a/b", "%2F", "a%2Fb", "/", "in/0/1", "item:in/0/1", "stream:a/b", "name:a", "slkstream-control/a/b"}
	of := map[string]string{}
	add := func(key, what string) {
		if other, known := of[key]; known && other != what {
			t.Errorf("%q is the key of %s and of %s", key, other, what)
		}
		of[key] = what
	}
	for _, id := range words {
		for _, stream := range words {
			for _, label := range []string{"", "x"} {
				for object := range int32(2) {
					it := Item{
						Source: Source{"in", 0, int64(len(of)), object - 1}, ItemID: id, Stream: stream, Label: label,
					}
					what := "item " + it.ID()
					if it.OwnName() != "" {
						what = fmt.Sprintf("%q of stream %q", id, stream)
					}
					add(it.Name(), what)
					if err := CheckKey(it.Name()); err != nil {
						t.Errorf("%s: %v", it.Name(), err)
					}
				}
			}
			if key := StreamKey(stream, id); stream != "" && !IsItemKey(id) {
				add(key, fmt.Sprintf("%q of stream %q", id, stream))
			}
		}
		add(NameKey(id, ""), "name "+id)
	}
}

// The objects of a frame are named by their places: a tracker counts them and begins again.
func TestObjectsAreNamedByTheirPlaces(t *testing.T) {
	it := Item{Source: Source{"in", 0, 7, 2}, ItemID: "3", Stream: "gate", Label: "anna"}
	if it.Name() != "item:in/0/7/2" {
		t.Error(it.Name())
	}
	it.Source.Object = -1
	if it.Name() != "stream:gate/3" {
		t.Error(it.Name())
	}
}

// An example or a rejection under the key of a name or a reset is refused, also if the key is only its id.
func TestExamplesUnderOthersKeys(t *testing.T) {
	for _, key := range []string{"name:anna", "slkstream-control//anna", "slkstream-control/a/b"} {
		for _, rest := range []string{`"label":"anna"`, `"not":["anna"]`} {
			for _, raw := range []*Raw{
				{Key: []byte(key), Value: []byte(`{"vector":[1,2],` + rest + `}`)},
				{Value: []byte(`{"vector":[1,2],"id":"` + key + `",` + rest + `}`)},
			} {
				var bad *Rejection
				if l, err := decoder(t, Options{}).DecodeLabel(t.Context(), raw); !errors.As(err, &bad) {
					t.Errorf("%s %s: %+v, %v", key, raw.Value, l, err)
				}
			}
		}
	}
}

// Whatever fits as a name of a stream and as an id fits as the key of an example that is made of both.
func TestLongKeysOfExamples(t *testing.T) {
	key := StreamKey(strings.Repeat("/", longestName), strings.Repeat("i", longestName))
	taught := Teach("labels", &Example{ID: key, Label: "cat", Stream: strings.Repeat("/", longestName), Vector: []float32{1}})
	not := Not("labels", &NotThis{ID: key, Not: []string{"cat"}, Vector: []float32{1}})
	for _, out := range []Out{taught, not, Forget("labels", key)} {
		if err := CheckLabel(t.Context(), &out); err != nil {
			t.Errorf("%.40s: %v", out.Value, err)
		}
	}
	beyond := Teach("labels", &Example{ID: strings.Repeat("i", longestName+1), Label: "cat", Vector: []float32{1}})
	if err := CheckLabel(t.Context(), &beyond); err == nil {
		t.Error("an id of an author's own has no bound")
	}
}
