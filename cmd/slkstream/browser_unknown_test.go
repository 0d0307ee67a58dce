//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// A group of unknown items gets a name by keyboard: the page shows which other items would get it, and a few
// members are taught.
func TestUnknownPage(t *testing.T) {
	l := newTaught()
	o := l.options()
	o.Recent = recent.New(1 << 20)
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
	o.Recent.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return strangers[i].Vector }))
	o.Strangers = func(context.Context) ([]recent.Stranger, error) { return strangers, nil }
	o.WouldCorrect = func([]record.Example) []recent.Corrected {
		return []recent.Corrected{{Item: items[8], Was: "kim"}}
	}
	address := webServer(t, o)
	ctx, complaints := browse(t)
	run := runner(t, ctx, complaints)
	run(chromedp.EmulateViewport(390, 844), chromedp.Navigate(address+"/unknown"),
		waitUntil(`document.querySelectorAll("#groups li").length === 2`),
		waitUntil(`document.querySelector("#groups li p").textContent.startsWith("8 items · door")`),
		waitUntil(`document.querySelectorAll("#groups li:first-child img").length === 5`),
		waitUntil(`document.documentElement.scrollWidth <= innerWidth`))
	screenshot(t, ctx, "unknown.png")
	run(chromedp.SendKeys(chromedp.CSS("#groups input"), "anna"),
		press(`document.querySelector("#groups button")`),
		waitUntil(`document.getElementById("sure").open`),
		waitUntil(`document.getElementById("sure-text").textContent.startsWith(`+
			`"Teach 5 items of 8 as anna? 1 other recent item would be called anna then:")`),
		waitUntil(`document.querySelectorAll("#sure-items img").length === 1`),
		press(`document.querySelector("#sure button")`))
	taught := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.examples)
	}
	run(waitUntil(`(sessionStorage.changes || "").includes("5 strangers taught as anna")`))
	if n := taught(); n != 5 {
		t.Errorf("%d taught: %v", n, l.log)
	}
	run(chromedp.Navigate(address+"/names"),
		waitUntil(`document.querySelectorAll("#changes button").length === 1`),
		press(`document.querySelector("#changes button")`),
		waitUntil(`document.querySelectorAll("#changes li").length === 0`))
	if n := taught(); n != 0 {
		t.Errorf("%d taught after undoing: %v", n, l.log)
	}
	complaints.check(t)
}
