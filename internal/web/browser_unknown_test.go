//go:build browser

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
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
		browser.Until(`document.querySelector("#groups .group").textContent.startsWith("8 itemsHidedoor")`),
		browser.Until(`document.querySelector("#groups .also").textContent === "also onyard"`),
		browser.Press(`document.querySelector("#more button")`), // the one that is like no other
		browser.Until(
			`document.querySelectorAll("#groups .group").length === 2 && document.querySelector("#more").textContent === "Show fewerHide all 2"`,
		),
		browser.Until(`document.querySelectorAll("#groups .group:first-child img").length === 5`),
		browser.Until(`document.querySelector("#groups .like .who").textContent.endsWith("kim")`), // the suggestion
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`),
	)
	b.Screenshot("unknown.png")
	b.Run(chromedp.SendKeys(chromedp.CSS("#groups input"), "anna\r"), // without --corrections nothing is promised to them
		browser.Until(`document.querySelector(".preview:not([hidden]) p")?.textContent ===
			"5 of the 8 are taught as anna, a new name. 1 other recent item would have been called so too, 1 of them called kim now:"`),
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

// While somebody writes a name, nothing moves and nothing is lost, whatever comes meanwhile.
func TestUnknownPageStandsStill(t *testing.T) {
	l := newTaughtStage()
	var more atomic.Bool
	l.strangers = func() (all []recent.Stranger, err error) {
		for i := range 12 {
			group := i / 4
			if group == 2 && !more.Load() {
				break
			}
			id := fmt.Sprint("in/0/", i)
			it := recent.Item{ID: id, Name: id, Stream: "door", Time: time.Unix(1e9+int64(i), 0), Label: "kim", Unknown: true}
			all = append(all, recent.Stranger{Found: recent.Found{Item: it, Vector: []float32{1, float32(i)}}, Group: group})
		}
		if more.Load() { // the second group is larger now, and another of it is in the middle
			for i := range 9 {
				it := all[4]
				it.ID, it.Vector = fmt.Sprint("in/1/", i), []float32{1, 40}
				it.Name = it.ID
				all = append(all, it)
			}
		}
		return all, nil
	}
	b := browser.Open(t)
	b.Run(
		chromedp.EmulateViewport(1400, 900), chromedp.Navigate(l.serve(t, recent.New(1<<20))+"/unknown"),
		browser.Until(`document.querySelector("h1")?.textContent === "Two groups have no name." &&
			document.querySelectorAll("#groups .group").length === 2`),
		chromedp.SendKeys(chromedp.CSS("#groups .group:last-child input"), "an"),
		browser.Until(`(window.cards = [...document.querySelectorAll("#groups .group")]).length === 2`),
		chromedp.Func(func(context.Context, *chromedp.Target) error { more.Store(true); return nil }),
		browser.Until(`document.querySelector("h1").textContent === "Three groups have no name."`),
		chromedp.KeyEvent("na"),
		browser.Until(`document.activeElement.value === "anna" && document.activeElement === window.cards[1].querySelector("input") &&
			document.querySelectorAll("#groups .group").length === 2`),
		browser.Until(`(document.activeElement.blur(), document.querySelectorAll("#groups .group").length === 3)`), // as they are now
		browser.Until(`[...document.querySelectorAll("#groups input")].filter((i) => i.value === "anna").length === 1`),
	)
	b.Silent()
}

// A group is hidden by a press, which can be undone, and all groups at once. The hidden ones are shown on request, and each again.
func TestUnknownPageHides(t *testing.T) {
	address := yard{cameras: 1, names: 3, groups: 3}.serve(t)
	groups := func(n int, title, more string) chromedp.Action[chromedp.Void] {
		return browser.Until(
			fmt.Sprintf(`document.querySelectorAll("#groups .group").length === %d && document.querySelector("h1").textContent === %q &&
			[...document.querySelectorAll("#more button")].map((b) => b.textContent).join(", ") === %q`, n, title, more),
		)
	}
	press := func(in, text string) chromedp.Action[chromedp.Void] {
		return browser.Press(fmt.Sprintf(`[...document.querySelectorAll("%s button")].find((b) => b.textContent === %q)`, in, text))
	}
	b := browser.Open(t)
	b.Run(
		chromedp.EmulateViewport(
			390,
			844,
		),
		chromedp.Navigate(address+"/unknown"),
		groups(3, "Three groups have no name.", "Hide all 3"),
		press(".group", "Hide"),
		groups(2, "Two groups have no name.", "Hide all 2, See 1 hidden group"),
		browser.Until(`document.querySelector(".tabs a:nth-child(3) b").textContent === "2"`),
		press(".toast", "Undo"),
		groups(3, "Three groups have no name.", "Hide all 3"),
		press("#more", "Hide all 3"),
		groups(0, "Everything else has a name.", "See 3 hidden groups"),
		press("#more", "See 3 hidden groups"),
		groups(3, "Three groups hidden.", "Show all again, Back to what has no name"),
	)
	axe, err := os.ReadFile(os.Getenv("SLKSTREAM_AXE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range browser.Faults(b, string(axe), true) {
		t.Error(fault)
	}
	b.Screenshot("unknown-hidden.png")
	b.Run(
		press(".group", "Show again"), groups(2, "Two groups hidden.", "Show all again, Back to what has no name"),
		press("#more", "Back to what has no name"), groups(1, "One group has no name.", "See 2 hidden groups"),
	)
	b.Silent()
}
