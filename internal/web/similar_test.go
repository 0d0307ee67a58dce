package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
)

// remembered returns a store of a few items on a half circle.
func remembered() *recent.Store {
	store := recent.New(1 << 20)
	items := make([]recent.Item, 5)
	for i := range items {
		items[i] = recent.Item{
			ID: fmt.Sprint("in/0/", i), Name: fmt.Sprint("item-", i), Label: "cat", Confidence: .5, Time: time.Unix(int64(100+i), 0),
			Attributes: []byte(`{"image":"data:image/png;base64,AA"}`),
		}
	}
	vectors := [][]float32{{1, 0}, {.9, .4}, {0, 1}, {-.5, .8}, {-1, 0}}
	store.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return vectors[i] }))
	return store
}

// The API answers "has this been here before?" by id and by vector, and names the fault of a faulty request.
func TestSimilarItems(t *testing.T) {
	server := serving(t, pageOf(Options{Recent: remembered()}, fakeStage{}), Access{Loopback: true})
	for body, want := range map[string][]string{
		`{"id":"item-0","count":2}`:  {"item-1", "item-2"},
		`{"id":"in/0/4"}`:            {"item-3", "item-2", "item-1", "item-0"},
		`{"vector":[0,2],"count":1}`: {"item-2"},

		`{"vector":[1,0],"count":1,"since":"1970-01-01T00:01:42Z"}`: {"item-2"},

		`{"vector":[1,0,0]}`:                 {},
		`{"vector":[1,0],"model":"another"}`: {},
	} {
		code, text := post(t, server, "/api/similar", body)
		var view SimilarView
		if code != http.StatusOK || json.Unmarshal([]byte(text), &view) != nil {
			t.Errorf("%s: %d %s", body, code, text)
			continue
		}
		var got []string
		for _, it := range view.Items {
			got = append(got, it.ID)
			if it.Distance == nil || it.Image == "" || it.Label != "cat" {
				t.Errorf("%s: %+v", body, it)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || view.Kept != 5 || !view.Since.Equal(time.Unix(100, 0)) {
			t.Errorf("%s: %v, not %v, of %d since %s", body, got, want, view.Kept, view.Since)
		}
	}
	for body, want := range map[string]int{
		`{}`: http.StatusBadRequest, `{"id":"item-0","vector":[1,0]}`: http.StatusBadRequest, `{"id":"gone"}`: http.StatusNotFound,
		`{"id":"item-0","count":101}`: http.StatusBadRequest, `{"id":"item-0","count":-1}`: http.StatusBadRequest,
		`{"vector":[0,0]}`: http.StatusBadRequest, `{"vector":"x"}`: http.StatusBadRequest,
	} {
		if code, text := post(t, server, "/api/similar", body); code != want {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	none := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	if code, _ := post(t, none, "/api/similar", `{"id":"item-0"}`); code != http.StatusConflict {
		t.Errorf("without recent items: %d", code)
	}
}
