package web

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// seen is a page that shows the items of records, has them among its recent items, and asks about them. It
// appends what is taught and forgotten to said.
func seen(t *testing.T, said *[]record.Example, values ...string) (*Page, []string) {
	t.Helper()
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := recent.New(1 << 20)
	p := pageOf(Options{Recent: kept, Say: saying(func(e *record.Example) error {
		*said = append(*said, *e)
		return nil
	})}, fakeStage{})
	var results []string
	var items []recent.Item
	var vectors [][]float32
	for offset, value := range values {
		list, err := decoder.Decode(t.Context(), &record.Raw{Topic: "in", Offset: int64(offset), Value: []byte(value)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			it := &list[i]
			r := record.Result{ID: it.ID(), ItemID: it.ItemID, Stream: it.Stream, Label: "cluster-1"}
			results = append(results, r.ID)
			shown := itemOf(it, r)
			p.shown.add(&shown)
			p.questions.Ask(record.NewReview(it, &r))
			items = append(items, recent.Item{ID: r.ID, Name: it.Name(), ItemID: it.ItemID, Stream: it.Stream, Label: r.Label})
			vectors = append(vectors, it.Vector)
		}
	}
	kept.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return vectors[i] }))
	return p, results
}

// Items that their senders call alike are taught one by one, and all wait for review: two cameras count their
// objects, and a tracker begins again.
func TestItemsOfOneIDAreTaughtOneByOne(t *testing.T) {
	var said []record.Example
	frame := func(camera, object, vector string) string {
		return `{"version":"4.0","id":"9","sensorId":"` + camera + `","objects":[{"id":"` + object +
			`","embedding":{"vector":` + vector + `}}]}`
	}
	p, results := seen(t, &said,
		frame("gate", "3", "[1,2]"), frame("yard", "3", "[2,1]"), frame("gate", "3", "[1,1]"),
		`{"id":"3","stream":"door","vector":[3,1]}`, `{"id":"3","stream":"shed","vector":[1,3]}`)
	server := serving(t, p, Access{Loopback: true})
	if waiting, _, _ := p.questions.session(); waiting != len(results) {
		t.Errorf("%d of %d items wait", waiting, len(results))
	}
	keys := map[string]bool{}
	for i, id := range results {
		body, _ := json.Marshal(map[string]any{"id": id, "label": "anna"})
		if code, text := post(t, server, "/api/teach", string(body)); code != http.StatusNoContent {
			t.Fatal(id, code, text)
		}
		keys[said[i].ID] = true
	}
	if len(keys) != len(results) {
		t.Errorf("%d items are taught under %v", len(results), keys)
	}
	if code, text := post(t, server, "/api/teach", `{"id":"3","label":"anna"}`); code != http.StatusConflict {
		t.Errorf("an id of several items: %d %s", code, text)
	}
}

// No id that a sender chooses is taken for another item, for a name, or for a reset.
func TestSendersIDsAreNobodyElses(t *testing.T) {
	for _, id := range []string{
		"in/0/0", "item:in/0/0", "stream:door/a", "name:anna", "slkstream-control/a/b", "slkstream-control//", "anna-1",
	} {
		var said []record.Example
		forged, _ := json.Marshal(map[string]any{"id": id, "stream": "door", "vector": []float32{9, 1}})
		p, results := seen(t, &said, `{"id":"a","stream":"door","vector":[1,2]}`, string(forged))
		p.stage = &fakeStage{example: func(key string) (record.Example, bool) {
			return record.Example{ID: key, Label: "anna", Vector: []float32{1, 2}}, key == "anna-1"
		}}
		server := serving(t, p, Access{Loopback: true})
		for _, teach := range results {
			body, _ := json.Marshal(map[string]string{"id": teach, "label": "anna"})
			if code, text := post(t, server, "/api/teach", string(body)); code != http.StatusNoContent {
				t.Fatal(code, text)
			}
		}
		if said[0].Vector[0] != 1 || said[1].Vector[0] != 9 {
			t.Errorf("%s: taught with the vectors %v and %v", id, said[0].Vector, said[1].Vector)
		}
		for i := range said {
			if said[i].ID != record.ItemKey(results[i]) {
				t.Errorf("%s: taught under %s", id, said[i].ID)
			}
		}
	}
}

// The API writes no example and no tombstone under the key of a name or a reset.
func TestTheAPIRefusesKeysOfOthers(t *testing.T) {
	var said []record.Example
	p, _ := seen(t, &said, `{"id":"name:anna","stream":"door","vector":[1,2]}`)
	server := serving(t, p, Access{Loopback: true})
	for _, key := range []string{"name:anna", "slkstream-control/a/b", "slkstream-control//anna"} {
		id, _ := json.Marshal(key)
		for path, rest := range map[string]string{"/api/teach": `,"label":"anna","vector":[1,2]`, "/api/forget": ""} {
			if code, text := post(t, server, path, `{"id":`+string(id)+rest+`}`); code != http.StatusBadRequest {
				t.Errorf("%s %s: %d %s", path, key, code, text)
			}
		}
	}
	if len(said) > 0 {
		t.Errorf("written: %+v", said)
	}
}

// An id that a caller chooses is another one in each stream.
func TestChosenIDsAreOfTheirStream(t *testing.T) {
	var said []record.Example
	p, _ := seen(t, &said)
	server := serving(t, p, Access{Loopback: true})
	keys := map[string]bool{}
	for _, stream := range []string{"", "a", "b", "a/b", "a%2Fb"} {
		body, _ := json.Marshal(map[string]any{"id": "b/3", "label": "anna", "stream": stream, "vector": []int{1, 2}})
		if code, text := post(t, server, "/api/teach", string(body)); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
		body, _ = json.Marshal(map[string]any{"id": "b/3", "stream": stream})
		if code, text := post(t, server, "/api/forget", string(body)); code != http.StatusNoContent {
			t.Fatal(code, text)
		}
		taught, forgotten := said[len(said)-2], said[len(said)-1]
		if taught.ID != forgotten.ID || taught.Stream != stream {
			t.Errorf("taught as %s for %q, forgotten as %s", taught.ID, taught.Stream, forgotten.ID)
		}
		keys[taught.ID] = true
	}
	if len(keys) != 5 {
		t.Errorf("one key for several: %v", keys)
	}
}
