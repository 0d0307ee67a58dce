//go:build browser

package web

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// With --max-wrong the page draws the share of sure answers against the share of wrong ones, and says of an
// item that is not sure what it needs.
func TestPageSaysHowSure(t *testing.T) {
	page := pageOf(Options{MaxWrong: .03}, fakeStage{})
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	showing, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { page.Run(showing); close(done) }()
	defer func() { stop(); <-done }()
	of := func(id, label string, confidence float64, sure bool, vector ...float32) item {
		r := record.Result{ID: id, Label: label, Confidence: confidence, Sure: &sure, SureFrom: .6}
		return item{Result: r, Vector: vector}
	}
	page.offer(&episode{
		Stream: "door", Number: 7, Sure: [][2]float64{{.1, 0}, {.5, .02}, {.8, .04}, {1, .1}},
		items: []item{of("a", "kim", .9, true, 1, 0), of("b", "anna", .41, false, 0, 1)},
	})
	b := browser.Open(t)
	b.Run(chromedp.EmulateViewport(390, 844), chromedp.Navigate(server.URL),
		browser.Until(`document.querySelectorAll("#latest .tile").length === 2`),
		browser.Press(`[...document.querySelectorAll("#latest .tile")].find(t => t.item.label === "anna")`),
		browser.Until(`document.querySelector("dialog header .soft").textContent === "Not sure: 41 %, needs 60 %."`),
		chromedp.KeyEvent(kb.Escape), browser.Until(`!document.querySelector("dialog")`),
		browser.Press(`document.querySelector("#details summary")`),
		browser.Until(`document.getElementById("sure-hint").textContent.startsWith("door: 1 of the 2 items")`),
		browser.Until(`document.querySelector("#sure-chart svg").getAttribute("aria-label") ===
			"Of the surest 50 % of the answers to labelled items 2 % were wrong; at most 3 % may be"`),
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`))
	b.Screenshot("sure.png")
	b.Silent()
}

// Who looks for a name sees the latest items that are called so, and none without a name that only resembles it.
func TestPageFindsOnlyWhatIsCalledSo(t *testing.T) {
	page := pageOf(Options{}, fakeStage{})
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	showing, stop := context.WithCancel(t.Context())
	defer stop() // ends the event streams, which would hold the server open
	go page.Run(showing)
	of := func(id, label string, unknown bool) item {
		return item{
			Result: record.Result{ID: id, Stream: "door", Label: label, Confidence: .6, Unknown: unknown},
			Vector: []float32{1, 0},
		}
	}
	page.offer(&episode{
		Stream: "door", Number: 7, items: []item{of("a", "anna", false), of("b", "anna", true), of("c", "kim", false)},
	})
	shows := func(ids string) chromedp.Action[chromedp.Void] {
		return browser.Until(`[...document.querySelectorAll("#latest .tile")].map(t => t.item.id).sort().join() === "` + ids + `"`)
	}
	b := browser.Open(t)
	b.Run(chromedp.Navigate(server.URL+"/?find=anna"), shows("a"), chromedp.Navigate(server.URL+"/?find=door"), shows("a,b,c"))
	b.Silent()
}
