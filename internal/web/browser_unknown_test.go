//go:build browser

package web

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/test/browser"
)

// A group of unknown items gets a name by keyboard: the page shows which other items would get it, and a few
// members are taught.
func TestUnknownPage(t *testing.T) {
	l := newTaughtStage()
	kept := recent.New(1 << 20)
	var strangers []recent.Stranger
	var items []recent.Item
	for i := range 9 {
		id := fmt.Sprint("in/0/", i)
		items = append(items, recent.Item{
			ID: id, Name: id, Stream: "door", Time: time.Unix(1e9+int64(i), 0), Label: "kim", Unknown: true,
			Attributes: json.RawMessage(pixel),
		})
		strangers = append(strangers, recent.Stranger{
			Found: recent.Found{Item: items[i], Vector: []float32{1, float32(i%8) / 8}}, Group: i / 8,
		})
	}
	kept.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return strangers[i].Vector }))
	l.strangers = func() ([]recent.Stranger, error) { return strangers, nil }
	l.wouldCorrect = func([]record.Example) []recent.Corrected {
		return []recent.Corrected{{Item: items[8], Was: "kim"}}
	}
	for _, camera := range []string{"door", "yard"} {
		l.linked = append(l.linked, labels.Linked{Identity: "shop/identity-5", Of: record.StreamID{Name: camera}, Cluster: "kim"})
	}
	address := l.serve(t, kept)
	b := browser.Open(t)
	b.Run(
		chromedp.EmulateViewport(390, 844),
		chromedp.Navigate(address+"/unknown"),
		browser.Until(`document.querySelectorAll("#groups .group").length === 1`),
		browser.Until(`document.querySelector("h1").textContent === "One group has no name."`),
		browser.Until(`document.querySelector("#groups .group").textContent.startsWith("8 itemsdoor")`),
		browser.Until(`document.querySelector("#groups .also").textContent === "also onyard"`),
		browser.Press(`document.querySelector("#more button")`), // the one that is like no other
		browser.Until(
			`document.querySelectorAll("#groups .group").length === 2 && document.querySelector("#more").textContent === "Show fewer"`,
		),
		browser.Until(`document.querySelectorAll("#groups .group:first-child img").length === 5`),
		browser.Until(`document.querySelector("#groups .like .who").textContent.endsWith("kim")`), // the suggestion
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`),
	)
	b.Screenshot("unknown.png")
	b.Run(chromedp.SendKeys(chromedp.CSS("#groups input"), "anna\r"),
		browser.Until(`document.querySelector(".preview:not([hidden]) p")?.textContent ===
			"5 of the 8 are taught as anna. 1 other recent item would be called so too:"`),
		browser.Until(`document.querySelectorAll(".preview .thumbs img").length === 1`),
		browser.Until(`document.activeElement.textContent === "Call them anna"`), chromedp.KeyEvent("\r"))
	taught := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.examples)
	}
	b.Run(browser.Until(`(sessionStorage.changes || "").includes("8 unknown items named anna, 5 of them as examples")`))
	if n := taught(); n != 5 {
		t.Errorf("%d taught: %v", n, l.log)
	}
	b.Run(chromedp.Navigate(address+"/names?name=anna"),
		browser.Until(`document.querySelectorAll("#changes button").length === 1`),
		browser.Press(`document.querySelector("#changes button")`),
		browser.Until(`document.querySelectorAll("#changes li").length === 0`))
	if n := taught(); n != 0 {
		t.Errorf("%d taught after undoing: %v", n, l.log)
	}
	b.Silent()
}
