//go:build browser

package web

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// A tap leaves the element that it met under the pointer for as long as nothing else is tapped: on a phone the groups go on
// changing, where a mouse that rests on them holds them still.
func TestUnknownPageAfterATap(t *testing.T) {
	for _, hovers := range []bool{false, true} {
		t.Run(fmt.Sprint(hovers), func(t *testing.T) {
			l := newTaughtStage()
			var more atomic.Bool
			l.strangers = func() (all []recent.Stranger, err error) {
				for i := range 8 {
					if i == 4 && !more.Load() {
						break
					}
					id := fmt.Sprint("in/0/", i)
					it := recent.Item{ID: id, Name: id, Stream: "door", Time: time.Unix(1e9+int64(i), 0), Label: "kim", Unknown: true}
					all = append(all, recent.Stranger{Found: recent.Found{Item: it, Vector: []float32{1, float32(i)}}, Group: i / 4})
				}
				return all, nil
			}
			cards := func(n int) string { return fmt.Sprintf(`document.querySelectorAll("#groups .group").length === %d`, n) }
			b := browser.Open(t)
			b.Run(
				chromedp.EmulateViewport(390, 844), chromedp.Navigate(l.serve(t, recent.New(1<<20))+"/unknown"), browser.Until(cards(1)),
				browser.Until(fmt.Sprintf(`(window.matchMedia = () => ({ matches: %t })) && true`, hovers)), // as the device has it
				chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
					_, err := cdp.Call(
						ctx,
						t,
						input.DispatchMouseEvent,
						input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: 195, Y: 400},
					)
					return err
				}),
				browser.Until(`document.getElementById("groups").matches(":hover")`),
				chromedp.Func(func(context.Context, *chromedp.Target) error { more.Store(true); return nil }),
				browser.Until(`document.querySelector("h1").textContent === "Two groups have no name."`),
			)
			if !hovers {
				b.Run(browser.Until(cards(2)))
			} else if !browser.Value[bool](b, cards(1)) {
				t.Error("the groups move under a mouse")
			}
			b.Silent()
		})
	}
}

// A name that is forgotten, and one that is called otherwise now, are no names in the heading, even where the stage still lists them.
func TestNamesPageCounts(t *testing.T) {
	l := newTaughtStage()
	for i, name := range []string{"anna", "kim", "bo"} {
		l.examples[name] = record.Example{ID: name, Label: name, At: time.Unix(1e9, 0), Vector: []float32{1, float32(i)}}
	}
	l.names["kim"] = record.Name{Name: "kim", At: time.Unix(1e9, 0)}
	l.names["bo"] = record.Name{Name: "bo", Into: "anna", At: time.Unix(1e9, 0)}
	b := browser.Open(t)
	b.Run(
		chromedp.Navigate(l.serve(t, recent.New(1<<20))+"/names"),
		browser.Until(`document.querySelector("#classes [data-name=kim]")?.textContent.includes("forgotten")`),
		browser.Until(`document.querySelector("h1").textContent === "1 name, taught with 3 examples."`),
	)
	b.Silent()
}
