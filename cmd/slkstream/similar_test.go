package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/web"
)

// Several stages are queried; the one that has the item gives its vector, and the answers are merged.
func TestSimilarAsksSeveralStages(t *testing.T) {
	var stages []string
	for stage := range 2 {
		store := recent.New(1 << 20)
		items := make([]recent.Item, 6)
		for i := range items {
			name := fmt.Sprintf("item-%d-%d", stage, i)
			items[i] = recent.Item{ID: "in/" + name, Name: name, Label: "cat\x1b[2J"}
		}
		store.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return []float32{10, float32(2*i + stage)} }))
		server := httptest.NewServer(web.Access{Loopback: true}.Guard(web.New(web.Options{Recent: store}).Handler()))
		defer server.Close()
		stages = append(stages, strings.TrimPrefix(server.URL, "http://"))
	}
	run := func(want int, arguments ...string) string {
		t.Helper()
		var out, messages bytes.Buffer
		if code := execute(t.Context(), append([]string{"similar"}, arguments...), &out, &messages); code != want {
			t.Fatalf("%v: exit %d: %s", arguments, code, messages.String())
		}
		return out.String() + messages.String()
	}
	out := run(exitDone, "--id", "item-1-2", "--count", "3", stages[0], stages[1])
	var names []string
	for line := range strings.Lines(out) {
		for field := range strings.FieldsSeq(line) {
			if strings.HasPrefix(field, "item-") {
				names = append(names, field)
			}
		}
	}
	if names[0] != "item-1-2" || len(names) != 4 || strings.Contains(strings.Join(names[1:], " "), "item-1-2") ||
		!strings.Contains(out, "item-0-3") || strings.Contains(out, "\x1b") {
		t.Errorf("%v of\n%s", names, out)
	}
	// A stage that is away, wherever it stands, is named, and the others' items are printed.
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	gone := strings.TrimPrefix(away.URL, "http://")
	for _, order := range [][]string{{gone, stages[0], stages[1]}, {stages[0], stages[1], gone}} {
		out = run(exitFailed, append([]string{"--id", "item-1-2", "--count", "3"}, order...)...)
		if !strings.Contains(out, "item-0-3") || !strings.Contains(out, "the items of "+gone+" are missing") ||
			strings.Contains(out, "not among the recent") {
			t.Errorf("without %s: %s", gone, out)
		}
	}
	out = run(exitFailed, "--id", "none", stages[0], gone)
	if !strings.Contains(out, "not among the recent") || !strings.Contains(out, "no stage answers at "+gone) {
		t.Error(out)
	}
	if out = run(exitFailed, "--id", "none", stages[0]); !strings.Contains(out, "not among the recent") {
		t.Error(out)
	}
	if out = run(exitUsage, stages[0]); !strings.Contains(out, "id") {
		t.Error(out)
	}
}

// Of items whose identity a stage knows it is told on which streams that has been.
func TestSimilarTellsIdentities(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"item": {"id": "in/a", "name": "a", "identity": "shop/identity-5", "identityStreams": ["door", "yard"]},
			"items": [{"id": "in/b", "name": "b", "label": "cluster-7", "distance": 0.1}]}`)
	}
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	code, out, messages := runLine(t, "similar", strings.TrimPrefix(server.URL, "http://"), "--id", "a")
	if code != exitDone || strings.Count(out, "shop/identity-5 on door, yard") != 1 || !strings.Contains(out, "cluster-7") {
		t.Errorf("exit %d: %s%s", code, out, messages)
	}
}

// A proxy or another version in the place of a stage is reported.
func TestSimilarNeedsTheItem(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "{}") }
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	code, _, messages := runLine(t, "similar", strings.TrimPrefix(server.URL, "http://"), "--id", "a")
	if code != exitFailed || !strings.Contains(messages, "answers without the item") {
		t.Errorf("exit %d: %s", code, messages)
	}
}
