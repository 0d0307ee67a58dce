//go:build browser

package web

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/test/browser"
)

// The page gives cameras the slots that the stage gives their names.
func TestPageColoursOfCameras(t *testing.T) {
	server := httptest.NewServer(Access{Loopback: true}.Guard(pageOf(Options{}, fakeStage{}).Handler()))
	t.Cleanup(server.Close) // after the browser, which follows its events
	b := browser.Open(t)
	b.Run(chromedp.Navigate(server.URL), browser.Until(`!!document.querySelector(".blank pre")`))
	browser.Value[bool](b, `(import("./static/parts.js").then((m) => {
		window.slots = ["dock 1", "dock 24", "7", "", "Tür 12345678", "cam-007"].map(m.slotOfCamera);
	}), true)`)
	b.Run(browser.Until(`!!window.slots`))
	var want []int
	for _, name := range []string{"dock 1", "dock 24", "7", "", "Tür 12345678", "cam-007"} {
		want = append(want, preferred(name))
	}
	if got := browser.Value[[]int](b, `window.slots`); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	b.Silent()
}
