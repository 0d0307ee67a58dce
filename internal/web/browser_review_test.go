//go:build browser

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// The review queue shows an item. One key teaches it, labels it nobody, or skips it; a label can
// be taken back.
func TestReviewInABrowser(t *testing.T) {
	var mu sync.Mutex
	said, forgotten := map[string]string{}, ""
	page := pageOf(Options{
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
	}, fakeStage{
		classes: []string{"cat", "dog", "hen"},
		examples: []record.Example{
			{ID: "a dog", Label: "dog", Vector: []float32{2, 1}},
			{ID: "a cat", Label: "cat", Vector: []float32{1, 2}},
		},
	})
	tell := func(label string, ids ...string) {
		for _, id := range ids {
			page.told(nil, []record.Review{{
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
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	b := browser.Open(t)
	rows := `document.querySelectorAll("#said tr").length`
	b.Run(chromedp.Navigate(server.URL+"/review"),
		browser.Until(`document.querySelector("#picture img")?.naturalWidth > 0`),
		browser.Until(`document.getElementById("examples").textContent === "Taught as doga dog0.21The runner-up, cata cat1.11"`))
	b.Run(browser.Until(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("1"),
		browser.Until(rows+` === 1`))
	b.Screenshot("review.png")
	b.Run(browser.Until(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("n"),
		browser.Until(rows+` === 2`))
	b.Run(browser.Until(`document.querySelectorAll("#choices button").length === 3`), chromedp.KeyEvent("s"))
	b.Run(browser.Until(`document.querySelectorAll("#choices button").length === 3 &&
		document.getElementById("picture").dataset.id === "zeroth"`), chromedp.KeyEvent("x"))
	b.Run(browser.Until(`document.getElementById("question-title").textContent.startsWith("Nothing")`))
	b.Run(chromedp.Click("#said tr:last-child button"), browser.Until(rows+` === 1`))
	check(map[string]string{"third": "cat", "second": "nobody", "zeroth": "not dog"})
	if forgotten != "third" {
		t.Errorf("taken back %q", forgotten)
	}

	// Several at once, on a phone: one key says the same of those that are selected.
	tell("dog", "a", "b", "c")
	tell("hen", "d", "e")
	tiles := func(n, selected int) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.querySelectorAll("#queue .tile").length === %d &&
			document.querySelectorAll("#queue [aria-pressed=true]").length === %d`, n, selected))
	}
	touch := func(id string) chromedp.Action[chromedp.Void] {
		return browser.Press(fmt.Sprintf(`[...document.querySelectorAll("#queue .tile")].find(t => t.item.id === %q)`, id))
	}
	b.Run(chromedp.EmulateViewport(390, 844), chromedp.KeyEvent("m"), tiles(5, 0),
		touch("a"), touch("c"), tiles(5, 2),
		browser.Until(`document.getElementById("question-title").textContent === "2 selected: one answer for all"`),
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`))
	b.Screenshot("review-several.png")
	b.Run(chromedp.KeyEvent("1"), tiles(3, 0))
	check(map[string]string{"a": "cat", "c": "cat"})
	b.Run(touch("d"), touch("e"), tiles(3, 2), chromedp.KeyEvent("x"), tiles(1, 0))
	check(map[string]string{"d": "not hen", "e": "not hen"})
	tell("hen", "f")
	b.Run(tiles(2, 0), chromedp.KeyEvent("a"), tiles(2, 2), chromedp.KeyEvent("y"), tiles(0, 0))
	check(map[string]string{"b": "dog", "f": "hen"}) // each as it was answered
	tell("dog", "g")
	b.Run(tiles(1, 0), chromedp.KeyEvent("m"), browser.Until(`document.getElementById("queue").hidden`),
		browser.Until(`document.getElementById("picture").dataset.id === "g"`))
	b.Silent()
}
