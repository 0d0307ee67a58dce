package web

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// A name's visits are joined while it stays before a camera, and listed with the latest name first; unknown items are
// nobody's. Names that were renamed are listed as they are called now, and forgotten ones are gone.
func TestWhere(t *testing.T) {
	p := pageOf(Options{}, fakeStage{names: []record.Name{{Name: "cluster-7", Into: "bo"}}})
	now := time.Now().Truncate(time.Second)
	seen := func(name, camera string, before time.Duration, unknown bool) {
		p.told([]record.Result{{Label: name, Stream: camera, Time: now.Add(-before), Unknown: unknown}}, nil, false)
	}
	seen("anna", "door", 10*time.Minute, false)
	seen("anna", "door", 9*time.Minute+30*time.Second, false)
	seen("anna", "yard", 9*time.Minute, false)
	seen("anna", "door", 5*time.Minute, false)
	seen("cluster-7", "yard", time.Minute, false)
	seen("eve", "yard", time.Minute, true)
	server := serving(t, p, Access{Loopback: true})
	ask := func(path string) (v liveView) {
		t.Helper()
		if err := json.NewDecoder(get(t, server, path).Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := ask("/page/live")
	if len(v.Where) != 2 || v.Where[0].Name != "bo" || v.Where[0].Camera != "yard" || v.Where[1].Name != "anna" {
		t.Fatalf("%+v", v.Where)
	}
	visits := v.Where[1].Visits
	if len(visits) != 3 || visits[0].To-visits[0].From != 30 || visits[2].Camera != "door" ||
		visits[2].From != now.Add(-5*time.Minute).Unix() {
		t.Errorf("%+v", visits)
	}
	if v := ask("/page/live?camera=yard&find=ann"); v.Names != 1 || v.Where[0].Name != "anna" {
		t.Errorf("chosen: %+v", v.Where)
	}
	if v := ask("/page/live?span=2"); v.Names != 1 || v.Where[0].Name != "bo" {
		t.Errorf("in two minutes: %+v", v.Where)
	}
	p.forget(map[string]bool{"anna": true})
	if v := ask("/page/live"); v.Names != 1 {
		t.Errorf("anna is forgotten: %+v", v.Where)
	}
}

// Names and visits are bounded, whatever the labels and times.
func TestWhereIsBounded(t *testing.T) {
	var w whereabouts
	start := time.Unix(1e9, 0)
	for i := range 3 * mostSeen {
		w.add([]record.Result{
			{Label: fmt.Sprint(i), Stream: "door", Time: start.Add(time.Duration(i) * time.Second)},
			{Label: "often", Stream: fmt.Sprint(i % 7), Time: start.Add(time.Duration(i*i%5000) * time.Minute)},
		})
	}
	if len(w.by) > mostSeen || len(w.by["often"]) > mostVisits {
		t.Errorf("%d names, %d visits", len(w.by), len(w.by["often"]))
	}
}
