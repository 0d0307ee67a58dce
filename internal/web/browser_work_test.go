//go:build browser

package web

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// While 20 cameras answer 200 items a second with 200 names, what the page makes anew in a frame is bounded: it draws what has
// changed. The test counts elements, as a slow machine makes as many as a fast one; it logs the time of the scripts.
func TestPageWork(t *testing.T) {
	const (
		frames, asked = 40, 4 // at least: frames, and answers of the stage that the page has drawn
		mostElements  = 600   // made in one frame
	)
	page, address := yard{cameras: 20, names: 200, groups: 6, questions: 14}.open(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				page.told(answers(n, now), nil, false)
				if n%10 == 0 {
					page.offer(&episode{Stream: "dock 1", Number: int64(n), items: shownItems(n, now)})
				}
			}
		}
	}()
	defer func() { stop(); <-done }()
	b := browser.Open(t)
	b.Run(
		chromedp.EmulateViewport(1400, 900),
		chromedp.Navigate(address),
		browser.Until(`document.querySelectorAll("#latest .tile").length >= 9`),
	)
	browser.Value[bool](b, `(() => {
		window.work = { frames: 0, made: 0, most: 0 };
		let made = 0;
		new MutationObserver(list => { for (const m of list) for (const n of m.addedNodes) made += 1 + (n.querySelectorAll?.("*").length ?? 0); })
			.observe(document.body, { childList: true, subtree: true });
		const frame = () => { work.frames++; work.made += made; work.most = Math.max(work.most, made); made = 0; requestAnimationFrame(frame); };
		requestAnimationFrame(frame);
		return true;
	})()`)
	before := scripts(b)
	b.Run(browser.Until(fmt.Sprintf(
		`work.frames >= %d && performance.getEntriesByType("resource").filter(e => e.name.includes("page/live")).length >= %d`,
		frames,
		asked,
	)))
	spent := scripts(b) - before
	// Asked again and again, the page says between its tasks what they have taken: no task took more than the longest step.
	longest, last := 0.0, scripts(b)
	for until := loads(b) + asked; loads(b) < until; {
		now := scripts(b)
		longest, last = max(longest, now-last), now
	}
	most, made, n := browser.Value[int](b, "work.most"), browser.Value[int](b, "work.made"), browser.Value[int](b, "work.frames")
	t.Logf(
		"%d frames: %d elements made, at most %d in one; %.2f ms of script and layout a frame; the longest step took %.1f ms at most",
		n,
		made,
		most,
		1000*spent/float64(n),
		1000*longest,
	)
	if made == 0 || most > mostElements {
		t.Errorf("%d elements were made, %d of them in one frame, where at most %d may be", made, most, mostElements)
	}
	b.Silent()
	b.Run(chromedp.Navigate("about:blank"))
}

// answers are the items of one camera, ten at a time.
func answers(n int, now time.Time) (list []record.Result) {
	for k := range 10 {
		list = append(list, record.Result{
			ID: fmt.Sprint(
				"in/1/",
				10*n+k,
			), Stream: fmt.Sprintf("dock %d", 1+n%20), Label: name((n*3 + k) % 200), Confidence: .9, Time: now,
		})
	}
	return list
}

func shownItems(n int, now time.Time) (items []item) {
	for i, r := range answers(n, now) {
		items = append(items, item{Example: r.ID, Vector: []float32{1, float32(i)}, Result: r})
	}
	return items
}

// loads returns how often the page has asked its stage for what Live shows.
func loads(b *browser.Browser) int {
	return browser.Value[int](b, `performance.getEntriesByType("resource").filter(e => e.name.includes("page/live")).length`)
}

// scripts returns what the page's scripts, layout and paint have taken, in seconds of the processor.
func scripts(b *browser.Browser) (seconds float64) {
	b.Run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"}); err != nil {
			return err
		}
		got, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, m := range got.Metrics {
			if m.Name == "TaskDuration" {
				seconds = m.Value
			}
		}
		return nil
	}))
	return seconds
}
