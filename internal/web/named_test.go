package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// A group that was named is not asked about again, though its items keep their answers, until its examples are taken back. Others
// like them that come later are.
func TestNamedGroupsAreNotAskedAboutAgain(t *testing.T) {
	var list []recent.Stranger
	add := func(group int) {
		id := fmt.Sprint("in/0/", len(list))
		list = append(list, recent.Stranger{Group: group, Found: recent.Found{
			Item: recent.Item{ID: id, Name: "item:" + id, Unknown: true}, Vector: []float32{1, float32(len(list))},
		}})
	}
	for i := range 8 {
		add(i % 2)
	}
	kept := recent.New(1 << 20)
	items := make([]recent.Item, len(list))
	for i := range list {
		items[i] = list[i].Item
	}
	kept.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return list[i].Vector }))
	var inForce sync.Map // examples by id
	server := serving(t, pageOf(Options{
		Recent: kept, LabelsTopic: "labels", Say: saying(func(e *record.Example) error {
			if inForce.Store(e.ID, *e); e.Label == "" {
				inForce.Delete(e.ID)
			}
			return nil
		}),
	}, fakeStage{
		strangers: func() ([]recent.Stranger, error) { return list, nil },
		example: func(id string) (record.Example, bool) {
			e, known := inForce.Load(id)
			if !known {
				return record.Example{}, false
			}
			return e.(record.Example), true
		},
	}), Access{Loopback: true})
	counts := func(want ...int) { t.Helper(); groupsAre(t, server, "", want...) }
	counts(4, 4)
	if code, text := post(t, server, "/api/split", `{"ids":["in/0/0","in/0/4"],"label":"anna"}`); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	counts(4)
	add(0)
	counts(4, 1)
	for _, id := range []string{"in/0/0", "in/0/4"} {
		if code, text := post(t, server, "/api/forget", fmt.Sprintf(`{"id":%q}`, id)); code != http.StatusNoContent {
			t.Fatalf("%d %s", code, text)
		}
	}
	counts(5, 4)
}

// groupsAre expects groups of these sizes at /api/unknown.
func groupsAre(t *testing.T, server *httptest.Server, query string, want ...int) {
	t.Helper()
	var v struct{ Groups []groupView }
	if err := json.NewDecoder(get(t, server, "/api/unknown"+query).Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	got := []int{}
	for _, g := range v.Groups {
		got = append(got, g.Count)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("groups%s of %v, want %v", query, got, want)
	}
}

// A group that was put away stays away with what comes later and is alike, also where it is counted, until most of it is new or
// somebody shows it again.
func TestGroupsArePutAway(t *testing.T) {
	var list []recent.Stranger
	add := func(group, n int) {
		for range n {
			id := fmt.Sprint("in/0/", len(list))
			list = append(list, recent.Stranger{Group: group, Found: recent.Found{
				Item: recent.Item{ID: id, Name: "item:" + id, Unknown: true}, Vector: []float32{1, float32(len(list))},
			}})
		}
	}
	add(0, 4)
	add(1, 3)
	p := pageOf(Options{Recent: recent.New(1 << 20)}, fakeStage{strangers: func() ([]recent.Stranger, error) { return list, nil }})
	server := serving(t, p, Access{Loopback: true})
	hide := func(body string) {
		t.Helper()
		if code, text := post(t, server, "/page/hide", body); code != http.StatusNoContent {
			t.Fatalf("%d %s", code, text)
		}
	}
	counted := func(want int) {
		t.Helper()
		var v shellView
		if err := json.NewDecoder(get(t, server, "/page/shell").Body).Decode(&v); err != nil || v.Groups != want {
			t.Errorf("%d groups counted, want %d (%v)", v.Groups, want, err)
		}
	}
	counted(2)
	hide(`{"ids":["in/0/1","gone"],"hidden":true}`)
	counted(1)
	add(0, 4) // half of it is new
	groupsAre(t, server, "", 3)
	groupsAre(t, server, "?hidden=true", 8)
	add(0, 8) // and again, as it has been seen since
	groupsAre(t, server, "", 3)
	add(0, 17) // more than there were
	groupsAre(t, server, "", 33, 3)
	groupsAre(t, server, "?hidden=true")
	hide(`{"ids":["in/0/0","in/0/4"],"hidden":true}`) // of both
	groupsAre(t, server, "")
	groupsAre(t, server, "?hidden=true", 33, 3)
	hide(`{"ids":["in/0/5"],"hidden":false}`)
	groupsAre(t, server, "", 3)
	counted(1)
	list = list[:4] // the rest is no longer recent
	groupsAre(t, server, "")
	groupsAre(t, server, "?hidden=true", 4)
}
