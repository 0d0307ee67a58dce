//go:build browser

package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/web"
)

// The page says in red what keeps the stage from its work, why, and what to do, for as long as it lasts.
func TestPageSaysTrouble(t *testing.T) {
	var well atomic.Bool
	page := web.New(web.Options{Title: "group doors", Status: func() web.Status {
		if well.Load() {
			return web.Status{Answered: 7}
		}
		return web.Status{Dead: 500, Troubles: []web.Trouble{{
			What:  "nothing of the input could be used for 1m2s: all 500 records went to the dead letters",
			Cause: "the vector has 249 numbers, the feed's have 1280",
			Do:    "compare the feed with --format, --dimension and --support",
		}}}
	}})
	server := httptest.NewServer(web.Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	showing, stop := context.WithCancel(t.Context())
	defer stop() // ends the event streams, which would hold the server open
	go page.Run(showing)
	ctx, complaints := browse(t)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			complaints.check(t)
			t.Fatal(err)
		}
	}
	run(chromedp.Navigate(server.URL), waitUntil(`!document.getElementById("trouble").hidden`),
		waitUntil(`document.getElementById("trouble").textContent.includes("249 numbers, the feed's have 1280What to do: compare the feed")`),
		waitUntil(`document.getElementById("live").dataset.state === "trouble"`),
		waitUntil(`(() => { const [r, g, b] = getComputedStyle(document.querySelector("#trouble strong")).color.match(/\d+/g); return r > 2 * g && r > 2 * b || r > 200 && g < 130; })()`),
		waitUntil(`document.documentElement.scrollWidth <= innerWidth`))
	if folder := os.Getenv("SLKSTREAM_SCREENSHOTS"); folder != "" {
		shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "trouble.png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	well.Store(true)
	run(waitUntil(`document.getElementById("trouble").hidden && document.getElementById("live").dataset.state === "live"`))
	complaints.check(t)
}
