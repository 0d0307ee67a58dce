//go:build browser

package web

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/test/browser"
)

// While the stage cannot work, the page shows in red what is wrong, why, and what to do.
func TestPageSaysTrouble(t *testing.T) {
	var well atomic.Bool
	page := pageOf(Options{Title: "group doors"}, fakeStage{status: func() pipeline.Summary {
		if well.Load() {
			return pipeline.Summary{Answered: 7}
		}
		return pipeline.Summary{Refused: 500, Troubles: []health.Trouble{{
			What:  "nothing of the input could be used for 1m2s: all 500 records went to the dead letters",
			Cause: "the vector has 249 numbers, the feed's have 1280",
			Do:    "compare the feed with --format, --dimension and --support",
		}}}
	}})
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	showing, stop := context.WithCancel(t.Context())
	defer stop() // ends the event streams, which would hold the server open
	go page.Run(showing)
	b := browser.Open(t)
	b.Run(
		chromedp.Navigate(server.URL),
		browser.Until(`!document.getElementById("trouble").hidden`),
		browser.Until(
			`document.getElementById("trouble").textContent.includes("249 numbers, the feed's have 1280.What to do: compare the feed")`,
		),
		browser.Until(`document.getElementById("live").dataset.state === "trouble"`),
		browser.Until(
			`(() => { const [r, g, b] = getComputedStyle(document.querySelector("#trouble .i")).color.match(/\d+/g); return r > 2 * g && r > 2 * b || r > 200 && g < 130; })()`,
		),
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`),
	)
	b.Screenshot("trouble.png")
	well.Store(true)
	b.Run(browser.Until(`document.getElementById("trouble").hidden && document.getElementById("live").dataset.state === "live"`))
	b.Silent()
}
