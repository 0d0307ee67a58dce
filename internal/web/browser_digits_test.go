//go:build browser

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// The nine most used classes keep their digits while the page is open, whatever is used most meanwhile and
// whatever an item looks like. Every other class can be typed, with completion.
func TestReviewKeepsItsDigits(t *testing.T) {
	var said atomic.Value
	var classes []string
	for i := range 12 {
		classes = append(classes, fmt.Sprint("class-", i))
	}
	page := pageOf(Options{Say: func(_ context.Context, out []record.Out) error {
		for _, r := range out {
			var what struct{ Label string }
			if err := json.Unmarshal(r.Value, &what); err != nil {
				return err
			}
			said.Store(string(r.Key) + " " + what.Label)
		}
		return nil
	}}, fakeStage{classes: classes})
	use := func(class, times int) {
		for range times {
			page.told([]record.Result{{Label: classes[class]}}, nil, false)
		}
	}
	ask := func(id string, guess int) {
		page.told(nil, []record.Review{{
			ID: id, Vector: []float32{1, 0}, Attributes: json.RawMessage(pixel),
			Guess: record.Guess{Label: classes[guess], Confidence: .5},
		}}, false)
	}
	for i := range classes {
		use(i, 20-i)
	}
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	defer server.Close()
	b := browser.Open(t)
	digits := `[...document.querySelectorAll("#choices [data-digit]")]
		.map(b => b.dataset.digit + b.dataset.label).join()`
	want := `"1class-0,2class-1,3class-2,4class-3,5class-4,6class-5,7class-6,8class-7,9class-8"`
	shows := func(id string) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.getElementById("picture")?.dataset.id === %q && %s === %s`,
			id, digits, want))
	}
	ask("first", 10)
	b.Run(chromedp.Navigate(server.URL+"/review"), shows("first"), browser.Until(
		`[...document.querySelectorAll("#labels option")].some(o => o.value === "class-11")`))
	use(10, 50) // now the most used of all
	ask("second", 2)
	b.Run(chromedp.KeyEvent("3"), shows("second"))
	if got := said.Load(); got != "first class-2" {
		t.Errorf("said %v", got)
	}
	ask("third", 5)
	b.Run(chromedp.SendKeys(chromedp.CSS("#name"), "class-11\r"), shows("third"))
	if got := said.Load(); got != "second class-11" {
		t.Errorf("said %v", got)
	}
	b.Silent()
}
