package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The demo asks for labels of its pictures, and shows how many got one since.
func TestDemoAsksForLabels(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0")
	address := d.line(t, `page +(http://\S+)`)[1]
	go func() { _, _ = io.Copy(io.Discard, d.out) }()
	var asked struct {
		Items  []struct{ ID, Label string }
		Labels []string
	}
	var state struct {
		Taught []struct{ Since int64 }
	}
	deadline := time.Now().Add(time.Minute)
	until := func(what string, done func() bool) {
		t.Helper()
		for ; !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not yet", what)
			}
		}
	}
	ask := func(path, body string, into any) {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		request, err := http.NewRequest(method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		if r.StatusCode >= 300 || into != nil && json.Unmarshal(text, into) != nil {
			t.Fatalf("%s: %s: %s", path, r.Status, text)
		}
	}
	until("items to review", func() bool {
		ask("/api/review", `{"who":"ann"}`, &asked)
		return len(asked.Items) > 0
	})
	if len(asked.Labels) < 10 {
		t.Errorf("offered: %v", asked.Labels)
	}
	said, _ := json.Marshal(map[string]string{"id": asked.Items[0].ID, "label": asked.Labels[0]})
	ask("/api/teach", string(said), nil)
	until("items named so since", func() bool {
		ask("/api/state", "", &state)
		return len(state.Taught) == 1 && state.Taught[0].Since > 0
	})
}
