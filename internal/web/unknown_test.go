package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// Groups are listed largest first, with the middle member, the least similar ones, streams and times. A few
// different members are to be taught, and a preview lists the others.
func TestUnknownGroups(t *testing.T) {
	var fails error
	var list []recent.Stranger
	for i, at := range []struct {
		group  int
		vector []float32
	}{
		{1, []float32{1, 0}},
		{0, []float32{0, 1}},
		{1, []float32{.96, .28}},
		{1, []float32{.96, -.28}},
		{1, []float32{.28, .96}},
		{1, []float32{1, 0}},
	} {
		id := fmt.Sprint("in/0/", i)
		list = append(list, recent.Stranger{Found: recent.Found{Item: recent.Item{
			ID: id, Name: id, Stream: fmt.Sprint("cam-", i%2), Time: time.Unix(int64(i), 0), Unknown: true,
		}, Vector: at.vector}, Group: at.group})
	}
	store := recent.New(1 << 20)
	items := []recent.Item{{ID: "in/1/0", Name: "in/1/0", Label: "anna"}}
	for i := range list {
		items = append(items, list[i].Item)
	}
	store.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return list[max(0, i-1)].Vector }))
	p := pageOf(Options{
		Recent: store, Corrects: true, Say: func(context.Context, []record.Out) error { return nil },
	}, fakeStage{
		strangers: func() ([]recent.Stranger, error) { return list, fails },
		wouldCorrect: func(examples []record.Example) (out []recent.Corrected) {
			for i := range 30 {
				out = append(out, recent.Corrected{
					Item: recent.Item{Name: fmt.Sprint(i), Label: examples[0].Label},
					Was:  []string{"x", "x", "y"}[i%3], WasUnknown: i == 29,
				})
			}
			return append(out, recent.Corrected{Item: recent.Item{Name: examples[0].ID}})
		},
	})
	server := serving(t, p, Access{Loopback: true})
	var v struct {
		Groups     []groupView
		All, Items int
	}
	if err := json.NewDecoder(get(t, server, "/api/unknown").Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if v.All != 2 || v.Items != 6 || len(v.Groups) != 2 || v.Groups[0].Count != 5 || v.Groups[1].Count != 1 {
		t.Fatalf("%+v", v)
	}
	g := v.Groups[0]
	if g.Middle.Result != "in/0/2" || g.Different[0].Result != "in/0/4" || len(g.Different) != mostDifferent ||
		!slices.Equal(g.Streams, []string{"cam-0", "cam-1"}) || g.First.Unix() != 0 || g.Last.Unix() != 5 ||
		len(g.Teach) != 3 || g.Teach[0] != "in/0/2" || slices.Contains(g.Teach, "in/0/4") {
		t.Errorf("%+v", g)
	}
	if alone := v.Groups[1]; alone.Middle.Result != "in/0/1" || len(alone.Different) != 0 ||
		len(alone.Teach) != 1 {
		t.Errorf("one alone: %+v", alone)
	}
	code, text := post(t, server, "/api/preview", `{"ids":["in/0/2"],"label":"anna"}`)
	if code != http.StatusOK || !strings.Contains(text, `"already":1,"corrected":true,"count":30,`) ||
		!strings.Contains(text, `"named":[{"label":"x","count":20},{"label":"y","count":9}]`) || strings.Count(text,
		`"was":`) != mostPreviewed {
		t.Errorf("preview: %d %s", code, text)
	}
	if code, _ = post(t, server, "/api/preview",
		`{"ids":["gone"],"label":"anna"}`); code != http.StatusNotFound {
		t.Errorf("of what is gone: %d", code)
	}
	fails = errors.New("away")
	if code := get(t, server, "/api/unknown").StatusCode; code != http.StatusInternalServerError {
		t.Errorf("not grouped: %d", code)
	}
	none := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	if code := get(t, none, "/api/unknown").StatusCode; code != http.StatusConflict {
		t.Errorf("without recent items: %d", code)
	}
}
