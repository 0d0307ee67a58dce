package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// Rejections and names are written to the labels topic in the documented form, and a faulty request gets an
// error that names the fault.
func TestNames(t *testing.T) {
	var said record.Out
	count := 0
	var fails error
	p := pageOf(Options{
		Say: func(_ context.Context, all []record.Out) error {
			said, count = all[len(all)-1], len(all)
			return fails
		},
		ForgetName: func(_ context.Context, n record.Name) ([]record.Receipt, error) {
			switch n.Name {
			case "anna":
				return []record.Receipt{{Where: "labels in force", What: "2 examples", Until: "now"}}, nil
			case "nobody":
				return nil, record.ErrNoName
			}
			return nil, errors.New("away")
		},
	}, fakeStage{
		example: func(id string) (record.Example, bool) {
			e := record.Example{ID: id, Label: "anna", Stream: "door", Model: "m", Vector: []float32{1, 2}}
			return e, id[0] == 'e'
		},
		names: []record.Name{
			{Name: "cluster-17", Into: "anna", By: "kim"}, {Name: "bob"}, {Name: "b", Into: "a", Stream: "door"},
		},
		counts: func() (examples, rejections map[string]int) {
			return map[string]int{"anna": 2, "a": 1, "b/door": 1}, map[string]int{"cat": 1}
		},
		rejections: []record.NotThis{{ID: "no", Not: []string{"cat"}, Vector: []float32{1, 2}}},
	})
	p.told(nil, []record.Review{review("a")}, false)
	server := serving(t, p, Access{Loopback: true})
	for _, c := range []struct {
		path, body string
		code       int
		key, value string // parts of the record, or of the error
	}{
		{"/api/reject", `{"id":"a","label":"kat"}`, 404, "", `nothing is called "kat" here`},
		{"/api/reject", `{"id":"a","label":"cat"}`, 204, "a", `"not":["cat"]`},
		{"/api/reject", `{"id":"a","label":"cat"}`, 404, "", "not among the recent"}, // it no longer waits
		{"/api/reject", `{"id":"b","label":" "}`, 400, "", "1 to 200"},
		// An item is none of all the classes that were rejected for it.
		{"/api/reject", `{"id":"e1","label":"cat"}`, 204, "e1", `"not":["cat"]`},
		{"/api/reject", `{"id":"e1","label":"anna"}`, 204, "e1", `"not":["anna","cat"]`}, // not read yet
		{"/api/reject", `{"id":"no","label":"anna"}`, 204, "no", `"not":["anna","cat"]`}, // read
		{"/api/forget", `{"id":"e1"}`, 204, "e1", ""},
		{"/api/reject", `{"id":"e1","label":"a"}`, 204, "e1", `"not":["a"]`},
		{"/api/reject", `{"label":"cat"}`, 400, "", "id is needed"},
		{
			"/api/names", `{"name":"cluster-17","into":"anna","stream":"door"}`, 204, "name:cluster-17/door",
			`"into":"anna"`,
		},
		{"/api/names", `{"name":"anna","into":"anna"}`, 400, "", "the same"},
		{"/api/names", `{"name":"anna","into":"cluster-17"}`, 400, "", "leads back to itself"},
		{"/api/names", `{"name":"anna"}`, 400, "", "into is needed"},
		{"/api/names", `{"name":"anna","into":"an\u0000na"}`, 400, "", "control character"},
		{"/api/names", `{"name":"b/door","into":"c"}`, 400, "", `"b" in stream "door" has the same key`},
		{"/api/names", `{"name":"ana","into":"eve"}`, 404, "", `nothing is called "ana" here`},
		{"/api/names", `{"name":"bob","into":"eve"}`, 404, "", `nothing is called "bob" here`}, // forgotten
		// It may be a cluster of another process.
		{"/api/names", `{"name":"cluster-4","into":"eve"}`, 204, "name:cluster-4", "eve"},
		{"/api/names", `{"name":"cluster-x","into":"eve"}`, 404, "", "cluster-x"},
		// The stage has not read the name before this one.
		{"/api/names", `{"name":"eve","into":"cluster-4"}`, 400, "", "leads back to itself"},
		{"/api/names/undo", `{"name":"cluster-4"}`, 204, "name:cluster-4", ""},
		{"/api/names/undo", `{"name":"cluster-4"}`, 404, "", `no name of "cluster-4"`},
		{"/api/names", `{"name":"eve","into":"cluster-4"}`, 404, "", `nothing is called "eve" here`},
		{"/api/names", `{"name":"cat","into":"tom"}`, 204, "name:cat", "tom"},
		{"/api/names", `{"name":"tom","into":"jerry"}`, 204, "name:tom", "jerry"},
		{"/api/names", `{"name":"a","into":"b"}`, 400, "", "leads back to itself"}, // in the stream door
		{"/api/names", `{"name":"` + strings.Repeat("x", 1<<20) + `","into":"a"}`, 400, "", "name is needed"},
		{"/api/names", `{"name":"a","into":"` + strings.Repeat("猫", 200) + `"}`, 204, "name:a", `猫"`},
		{"/api/names/undo", `{"name":"cluster-17"}`, 204, "name:cluster-17", ""},
		{"/api/names/undo", `{"name":"bob"}`, 404, "", `no name of "bob"`}, // forgotten for good
		{"/api/names/undo", `{"name":"b"}`, 404, "", `stream "door"`},
		{"/api/names/undo", `{"name":"b","stream":"door"}`, 204, "name:b/door", ""},
		{"/api/names/forget", `{"name":"anna"}`, 200, "", `"what":"2 examples"`},
		{"/api/names/forget", `{"name":"nobody"}`, 404, "", "nothing is called so"},
		{"/api/names/forget", `{"name":"else"}`, 502, "", "send it again"},
		{"/api/names/forget", `{}`, 400, "", "1 to 200"},
		{"/api/split", `{"ids":["e1","e2","e3"],"label":"eve"}`, 204, "e3", `"label":"eve"`},
		{"/api/split", `{"ids":["e1"],"label":"eve"}`, 204, "e1", `"stream":"door"`},
		{"/api/split", `{"ids":["e1","gone"],"label":"eve"}`, 404, "", "nothing was taught"},
		{"/api/split", `{"ids":[],"label":"eve"}`, 400, "", "1 to 1000"},
		{"/api/split", `{"ids":["e1"]}`, 400, "", "label is needed"},
	} {
		said = record.Out{}
		code, text := post(t, server, c.path, c.body)
		says := text
		if c.code == 204 {
			says = string(said.Value)
		}
		if code != c.code || string(said.Key) != c.key || !strings.Contains(says, c.value) {
			t.Errorf("%s %.80s: %d %s, wrote %q %q", c.path, c.body, code, text, said.Key, said.Value)
		}
	}
	ids := strings.Repeat(`"e",`, 999) + `"e"`
	split := func(ids string) int {
		code, _ := post(t, server, "/api/split", `{"ids":[`+ids+`],"label":"eve"}`)
		return code
	}
	if code := split(ids + `,"e"`); code != http.StatusBadRequest {
		t.Errorf("1,001 ids: %d", code)
	}
	if code := split(ids); code != http.StatusNoContent || count != 1000 {
		t.Errorf("1,000 ids: %d, %d records", code, count)
	}
	fails = errors.New("away")
	if code, _ := post(t, server, "/api/names/undo", `{"name":"tom"}`); code != http.StatusBadGateway {
		t.Errorf("a topic that is away: %d", code)
	}
	if r := get(t, server, "/api/names"); r.StatusCode != http.StatusOK {
		t.Errorf("%s", r.Status)
	}
	none := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	if code, _ := post(t, none, "/api/reject", `{"id":"a","label":"cat"}`); code != http.StatusConflict {
		t.Errorf("no labels topic: %d", code)
	}
}
