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

// The review queue shows an item beside the best examples. One key teaches it, rejects its name, labels it nobody, or
// skips it; every answer can be undone.
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
	undone := func() string {
		mu.Lock()
		defer mu.Unlock()
		return forgotten
	}
	tell("dog", "zeroth", "first", "second", "third")
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	b := browser.Open(t)
	rows := `document.querySelectorAll("#said li:not(.undone)").length`
	asks := func(id string) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.getElementById("picture")?.dataset.id === %q &&
			document.querySelectorAll("#choices .chip").length === 3`, id))
	}
	b.Run(
		chromedp.Navigate(server.URL+"/review"),
		asks("third"),
		browser.Until(`document.querySelector("#picture img")?.naturalWidth > 0`),
		browser.Until(`document.getElementById("question").textContent === "Is this dog?"`),
		// The bars are the shares of the answer, so that the answer has the longest.
		browser.Until(
			`[...document.querySelectorAll(".near .scale")].map(e => e.ariaLabel).join() === "dog: 50 % sure,cat: 40 % sure"`,
		),
		browser.Until(`[...document.querySelectorAll(".trio [data-name]")].map(e => e.textContent).join() ===
			"DOdogbest exampleDO,CAcatrunner-upCA"`),
	)
	b.Screenshot("review.png")
	b.Run(chromedp.KeyEvent("1"), browser.Until(rows+` === 1`), asks("second"), chromedp.KeyEvent("n"),
		browser.Until(rows+` === 2`), asks("first"), chromedp.KeyEvent("s"), browser.Until(rows+` === 3`), asks("zeroth"),
		chromedp.KeyEvent("x"), browser.Until(rows+` === 4`),
		browser.Until(`document.querySelector(".ask h1").textContent === "Nothing to review."`))
	check(map[string]string{"third": "cat", "second": "nobody", "zeroth": "not dog"})

	// Everything can be undone: the rejection by a key, which asks about the item again, the label by its button.
	b.Run(chromedp.KeyEvent("z"), asks("zeroth"), browser.Until(rows+` === 3`))
	if got := undone(); got != "zeroth" {
		t.Errorf("taken back %q", got)
	}
	b.Run(browser.Press(`document.querySelector("#said li:last-child button")`), browser.Until(rows+` === 2`), asks("third"))
	if got := undone(); got != "third" {
		t.Errorf("taken back %q", got)
	}
	b.Run(chromedp.KeyEvent("y"), asks("zeroth"), chromedp.KeyEvent("y"),
		browser.Until(`document.querySelector(".ask h1").textContent === "Nothing to review."`))
	check(map[string]string{"third": "dog", "zeroth": "dog"})
	// Two keys at once take back two answers, and no button is left that would take them back again.
	b.Run(chromedp.KeyEvent("zz"), browser.Until(rows+` === 2`), asks("third"),
		browser.Until(`document.querySelector(".toast").textContent === "Taken back."`),
		chromedp.KeyEvent("y"), asks("zeroth"), chromedp.KeyEvent("y"),
		browser.Until(`document.querySelector(".ask h1").textContent === "Nothing to review."`))
	check(map[string]string{"third": "dog", "zeroth": "dog"})

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
		browser.Until(`document.getElementById("not").disabled && document.getElementById("not").title === "Select some first"`),
		touch("a"), touch("c"), tiles(5, 2),
		browser.Until(`document.querySelector(".ask h1").textContent === "2 selected: one answer for all."`),
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
	b.Run(tiles(1, 0), chromedp.KeyEvent("m"), asks("g"))
	b.Silent()
}
