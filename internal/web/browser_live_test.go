//go:build browser

package web

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// "Name it" beside a group on Live leads to the field that names this group.
func TestPageNamesTheGroupThatIsPressed(t *testing.T) {
	address := yard{cameras: 1, names: 2, groups: 3}.serve(t)
	b := browser.Open(t)
	b.Run(chromedp.EmulateViewport(1400, 900), chromedp.Navigate(address),
		browser.Until(`document.querySelectorAll("#strangers a.b").length === 3`))
	b.Run(browser.Press(`document.querySelector("#strangers li:last-child a.b")`),
		browser.Until(`document.activeElement.matches(".name-it input") &&
			document.activeElement.closest(".group") === document.querySelector("#groups .group:last-child")`))
	b.Silent()
}

// In the first hour the times below "Who was where" are as many minutes apart.
func TestPageAxisHasEvenTimes(t *testing.T) {
	page, address := yard{}.open(t)
	now := time.Now()
	for _, at := range []time.Time{now.Add(-330 * time.Second), now} {
		page.streams.now = func() time.Time { return at }
		page.told([]record.Result{{Stream: "dock 1", Label: "van", Confidence: .9, Time: at}}, nil, false)
	}
	page.streams.now = time.Now
	b := browser.Open(t)
	b.Run(chromedp.EmulateViewport(1400, 900), chromedp.Navigate(address), browser.Until(`(() => {
		const minutes = [...document.querySelectorAll("#where .axis div span")].slice(0, 4).map((s) => {
			const [h, m] = s.textContent.split(":");
			return 60 * h + Number(m);
		});
		const steps = [1, 2, 3].map((i) => (1440 + minutes[i] - minutes[i - 1]) % 1440);
		return steps[0] > 0 && steps.every((s) => s === steps[0]);
	})()`))
	b.Silent()
}
