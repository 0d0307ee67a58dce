package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// eventsOf opens the events of a page; next returns the data of the next event of a name.
func eventsOf(t *testing.T, body io.Reader) (next func(name string, into any)) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	return func(name string, into any) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() != "event: "+name {
				continue
			}
			lines.Scan()
			data, _ := strings.CutPrefix(lines.Text(), "data: ")
			if err := json.Unmarshal([]byte(data), into); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Fatalf("the events end before %s: %v", name, lines.Err())
	}
}

// A visitor sees an item when it is answered at once, and under the same id what its episode made of it.
func TestFirstAnswers(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	server := serving(t, p, Access{Loopback: true})
	if p.wantsFirst() {
		t.Error("it wants first answers with nobody there")
	}
	next := eventsOf(t, get(t, server, "/events").Body)
	next("hello", new(any))
	e := s.episode(t, 4)
	const hostile = `<img src=x onerror=alert(1)>`
	for i := range 3 { // the fourth is not shown
		if !p.wantsFirst() {
			t.Fatal("it does not want a first answer")
		}
		first := e.items[i]
		first.Result.Settled, first.Result.Unknown = new(bool), false
		first.Result.Label = []string{e.items[0].Result.Label, hostile, e.items[2].Result.Label}[i]
		p.first(&first)
	}
	var seen, settled []itemView
	for len(seen) < 3 {
		var items []itemView
		next("first", &items)
		seen = append(seen, items...)
	}
	if v := seen[1]; v.Settled || v.ID != e.items[1].Result.ID || v.Label != hostile ||
		v.Image == "" || v.Was != nil {
		t.Errorf("at first %+v", v)
	}
	// It can be taught before it is settled.
	r, err := server.Client().Do(teachRequest(server, fmt.Sprintf(`{"id":%q,"label":"hat"}`, seen[0].ID)))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if lessons := s.lessons(); r.StatusCode != http.StatusNoContent || len(lessons) != 1 ||
		len(lessons[0].Vector) != len(e.items[0].Vector) {
		t.Errorf("teaching: %s", r.Status)
	}
	results := make([]record.Result, len(e.items))
	for i := range results {
		results[i] = e.items[i].Result
	}
	results[2].Unknown = true
	p.told(results, nil, false)
	next("settled", &settled)
	if len(settled) != 3 {
		t.Fatalf("settled: %+v", settled)
	}
	for i, v := range settled {
		switch {
		case !v.Settled || v.ID != seen[i].ID || v.Label != results[i].Label || v.Name != seen[i].Name ||
			v.Image != seen[i].Image:
			t.Errorf("%d: at first %+v, in the end %+v", i, seen[i], v)
		case i == 0 && v.Was != nil, i == 1 && (v.Was == nil || v.Was.Label != hostile),
			i == 2 && (v.Was == nil || v.Was.Unknown || v.Was.Label != v.Label):
			t.Errorf("%d: what the episode changed: %+v", i, v.Was)
		}
	}
	p.told(results, nil, false) // once is enough
	p.offer(e)
	var episode episodeView
	next("episode", &episode)
	if len(episode.Items) != 4 || episode.Items[1].Was == nil || episode.Items[3].Was != nil {
		t.Errorf("the episode's items: %+v", episode.Items)
	}
	p.forget(map[string]bool{hostile: true})
	if was := p.shown.items[results[1].ID].was; was != nil {
		t.Errorf("a forgotten label is still there: %+v", was)
	}
}

// However many first answers there are, few are shown and few are kept.
func TestFirstAnswersAreBounded(t *testing.T) {
	p := newSimulation(t).page()
	p.clients.add()
	wanted := 0
	for range 1000 {
		if p.wantsFirst() {
			wanted++
			p.first(&item{Result: record.Result{ID: "again", Settled: new(bool)}})
		}
	}
	if wanted < firstBurst || wanted > 100 || len(p.shown.items) != 1 {
		t.Errorf("%d of 1,000 shown, %d of one item kept", wanted, len(p.shown.items))
	}
	p.told([]record.Result{{ID: "gone", Label: "hat"}}, nil, false) // it was never shown
}
