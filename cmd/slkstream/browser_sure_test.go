//go:build browser

package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/web"
)

// With --max-wrong the page draws the share of sure answers against the share of wrong ones, and says of an
// item that is not sure what it needs.
func TestPageSaysHowSure(t *testing.T) {
	page := web.New(web.Options{MaxWrong: .03})
	server := httptest.NewServer(web.Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	showing, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { page.Run(showing); close(done) }()
	defer func() { stop(); <-done }()
	item := func(id, label string, confidence float64, sure bool, vector ...float32) web.Item {
		r := record.Result{ID: id, Label: label, Confidence: confidence, Sure: &sure, SureFrom: .6}
		return web.Item{Result: r, Vector: vector}
	}
	page.Offer(&web.Episode{
		Stream: "door", Number: 7, Sure: [][2]float64{{.1, 0}, {.5, .02}, {.8, .04}, {1, .1}},
		Items: []web.Item{item("a", "kim", .9, true, 1, 0), item("b", "anna", .41, false, 0, 1)},
	})
	ctx, complaints := browse(t)
	run := runner(t, ctx, complaints)
	run(chromedp.EmulateViewport(390, 844), chromedp.Navigate(server.URL),
		waitUntil(`!!document.querySelector(".tile[title='anna, not sure: .41, needs .60']")`),
		waitUntil(`document.getElementById("sure-hint").textContent.startsWith("door: 1 of the 2 items")`),
		waitUntil(`document.querySelector("#sure-chart svg").getAttribute("aria-label") ===
			"Of the surest 50 % of the answers to labelled items 2 % were wrong; at most 3 % may be"`),
		waitUntil(`document.documentElement.scrollWidth <= innerWidth`))
	screenshot(t, ctx, "sure.png")
	complaints.check(t)
}
