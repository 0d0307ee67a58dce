//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
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
	said, forgotten := map[string]string{}, ""
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
		Say: func(_ context.Context, out []record.Out) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range out {
				if len(r.Value) == 0 {
					forgotten = string(r.Key)
					continue
				}
				var what struct {
					Label string
					Not   []string
				}
				if err := json.Unmarshal(r.Value, &what); err != nil {
					return err
				}
				said[string(r.Key)] = what.Label
				if what.Not != nil {
					said[string(r.Key)] = "not " + what.Not[0]
				}
			}
			return nil
		},
	})
	tell := func(label string, ids ...string) {
		for _, id := range ids {
			page.Told(nil, []record.Review{{
				ID: id, Stream: "door", Vector: []float32{1, 0}, Attributes: json.RawMessage(pixel),
				Guess: record.Guess{
					Label: label, Confidence: .5,
					Alternatives: []record.Alternative{{Label: "cat", Confidence: .4}},
				},
			}}, false)
		}
	}
	check := func(want map[string]string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !maps.Equal(said, want) {
			t.Errorf("said %v, not %v", said, want)
		}
		clear(said)
	}
	tell("dog", "zeroth", "first", "second", "third")
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
	check(map[string]string{"third": "cat", "second": "nobody", "zeroth": "not dog"})
	if forgotten != "third" {
		t.Errorf("taken back %q", forgotten)
	}

	// Several at once, on a phone: one key says the same of those that are selected.
	tell("dog", "a", "b", "c")
	tell("hen", "d", "e")
	tiles := func(n, selected int) chromedp.Action[chromedp.Void] {
		return waitUntil(fmt.Sprintf(`document.querySelectorAll("#queue .tile").length === %d &&
			document.querySelectorAll("#queue [aria-pressed=true]").length === %d`, n, selected))
	}
	touch := func(id string) chromedp.Action[chromedp.Void] {
		return press(fmt.Sprintf(`[...document.querySelectorAll("#queue .tile")].find(t => t.item.id === %q)`, id))
	}
	run(chromedp.EmulateViewport(390, 844), chromedp.KeyEvent("m"), tiles(5, 0),
		touch("a"), touch("c"), tiles(5, 2),
		waitUntil(`document.getElementById("question-title").textContent === "2 selected: one answer for all"`),
		waitUntil(`document.documentElement.scrollWidth <= innerWidth`))
	screenshot(t, ctx, "review-several.png")
	run(chromedp.KeyEvent("1"), tiles(3, 0))
	check(map[string]string{"a": "cat", "c": "cat"})
	run(touch("d"), touch("e"), tiles(3, 2), chromedp.KeyEvent("x"), tiles(1, 0))
	check(map[string]string{"d": "not hen", "e": "not hen"})
	tell("hen", "f")
	run(tiles(2, 0), chromedp.KeyEvent("a"), tiles(2, 2), chromedp.KeyEvent("y"), tiles(0, 0))
	check(map[string]string{"b": "dog", "f": "hen"}) // each as it was answered
	tell("dog", "g")
	run(tiles(1, 0), chromedp.KeyEvent("m"), waitUntil(`document.getElementById("queue").hidden`),
		waitUntil(`document.getElementById("picture").dataset.id === "g"`))
	complaints.check(t)
}
