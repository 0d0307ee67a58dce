package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// A stage that has seen nothing answers with empty lists and objects, never with null in their place: scripts go
// through them as they are.
func TestNothingIsNoNull(t *testing.T) {
	bodies := map[string]string{ // of requests that only ask; what else is posted changes something
		"POST /api/review":  `{}`,
		"POST /api/similar": `{"vector": [1, 0]}`,
		"POST /api/preview": `{"ids": [], "label": "a"}`,
		"POST /api/answer":  `{"stream": "s", "vector": [1, 0]}`,
	}
	for name, o := range map[string]Options{
		"kept": {Recent: recent.New(1 << 20)}, "not kept": {}, "the demo": {Demo: []Scene{{Camera: "camera 1"}}},
	} {
		p := pageOf(o, fakeStage{})
		answered, routes := 0, p.routes()
		maps.Copy(routes, p.pageRoutes())
		for route := range routes {
			method, path, _ := strings.Cut(route, " ")
			body, asks := bodies[route]
			if method != http.MethodGet && !asks || strings.HasSuffix(path, "openapi.json") {
				continue
			}
			request := httptest.NewRequest(method, path, strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			reply := httptest.NewRecorder()
			p.Handler().ServeHTTP(reply, request)
			if reply.Code != http.StatusOK {
				continue
			}
			answered++
			for _, fault := range nulls(t, reply.Body.Bytes()) {
				t.Errorf("%s, %s: null at %s", name, route, fault)
			}
		}
		if answered < 7 {
			t.Errorf("%s: only %d paths answer", name, answered)
		}
		p.offer(episodeWithout())
		p.latest = <-p.offered
		for _, message := range p.welcome() {
			_, data, _ := bytes.Cut(message, []byte("data: "))
			for _, fault := range nulls(t, data) {
				t.Errorf("%s, event: null at %s in %s", name, fault, message)
			}
		}
	}
}

// episodeWithout returns an episode of one item, without all that may be absent.
func episodeWithout() *episode {
	return &episode{
		Stream: "s",
		items:  []item{{Example: "x", Vector: []float32{1, 0}, Result: record.Result{ID: "in/0/1", Stream: "s"}}},
	}
}

// nulls returns where a JSON value holds null.
func nulls(t *testing.T, text []byte) (out []string) {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case nil:
			out = append(out, at)
		case map[string]any:
			for key, inner := range v {
				walk(at+"."+key, inner)
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s[%d]", at, i), inner)
			}
		}
	}
	walk("", value)
	return out
}
