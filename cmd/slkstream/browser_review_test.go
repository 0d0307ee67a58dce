//go:build browser

package main

import (
	"context"
	"encoding/json"
	"iter"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/web"
)

// The review queue shows an item. One key teaches it, labels it nobody, or skips it; a label can
// be taken back.
func TestReviewInABrowser(t *testing.T) {
	var mu sync.Mutex
	said, forgotten, rejected := map[string]string{}, "", ""
	page := web.New(web.Options{
		Labels: func() []string { return []string{"cat", "dog", "hen"} },
		Examples: func() iter.Seq[record.Example] {
			return slices.Values([]record.Example{
				{ID: "a dog", Label: "dog", Vector: []float32{2, 1}}, {
					ID: "a cat", Label: "cat",
					Vector: []float32{1, 2},
				},
			})
		},
		Teach: func(_ context.Context, e *record.Example) error {
			mu.Lock()
			defer mu.Unlock()
			said[e.ID] = e.Label
			return nil
		},
		Say: func(_ context.Context, out func(string) []record.Out) error {
			mu.Lock()
			defer mu.Unlock()
			rejected = string(out("labels")[0].Key)
			return nil
		},
		Forget: func(_ context.Context, id string) error {
			mu.Lock()
			defer mu.Unlock()
			forgotten = id
			return nil
		},
	})
	for _, id := range []string{"zeroth", "first", "second", "third"} {
		page.Told(nil, []record.Review{{
			ID: id, Stream: "door", Vector: []float32{1, 0}, Attributes: json.RawMessage(pixel),
			Guess: record.Guess{
				Label: "dog", Confidence: .5,
				Alternatives: []record.Alternative{{Label: "cat", Confidence: .4}},
			},
		}}, false)
	}
	server := httptest.NewServer(web.Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	ctx, complaints := browse(t)
	run := runner(t, ctx, complaints)
	rows := `document.querySelectorAll("#said tr").length`
	run(chromedp.Navigate(server.URL+"/review"),
		waitUntil(`document.querySelector("#picture img")?.naturalWidth > 0`),
		waitUntil(`document.getElementById("examples").textContent === "Taught as doga dog0.21The runner-up, cata cat1.11"`))
	run(waitUntil(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("1"),
		waitUntil(rows+` === 1`))
	screenshot(t, ctx, "review.png")
	run(waitUntil(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("n"),
		waitUntil(rows+` === 2`))
	run(waitUntil(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("s"))
	run(waitUntil(`document.querySelectorAll("#choices button").length === 3 &&
		document.getElementById("picture").dataset.id === "zeroth"`), chromedp.KeyEvent("x"))
	run(waitUntil(`document.getElementById("question-title").textContent.startsWith("Nothing")`))
	run(chromedp.Click("#said tr:last-child button"), waitUntil(rows+` === 1`))
	mu.Lock()
	defer mu.Unlock()
	if said["third"] != "cat" || said["second"] != "nobody" || len(said) != 2 || forgotten != "third" ||
		rejected != "zeroth" {
		t.Errorf("taught %v, taken back %q, rejected %q", said, forgotten, rejected)
	}
	complaints.check(t)
}
