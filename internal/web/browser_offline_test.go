//go:build browser

package web

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/test/browser"
)

// A page that loses its stage says so, and since when; it keeps what it shows, and goes on by itself once the stage is there.
func TestPageOfflineAndBack(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("SLKSTREAM_AXE"))
	if err != nil {
		t.Fatalf("SLKSTREAM_AXE names axe.min.js, which .ci/fetch.sh fetches: %v", err)
	}
	address := yard{cameras: 20, names: 200, groups: 6, questions: 14}.serve(t)
	offline := func(off bool) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
				MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}},
			})
			return err
		})
	}
	b := browser.Open(t)
	for _, page := range []struct{ name, path, ready string }{
		{"live", "/", `document.querySelectorAll("#cameras li").length === 20 && document.querySelectorAll("#latest .tile").length >= 9`},
		{"review", "/review", `document.querySelectorAll(".trio figure").length === 3`},
		{"unknown", "/unknown", `document.querySelectorAll(".group").length === 6`},
		{"names", "/names?name=van 3", `document.querySelectorAll("#examples .tile").length === 1`},
	} {
		for _, size := range [][2]int64{{1400, 900}, {390, 844}} {
			for _, theme := range []string{"light", "dark"} {
				what := fmt.Sprintf("offline-%s-%d-%s", page.name, size[0], theme)
				b.Run(
					offline(false), browser.Scheme(theme), chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(address+page.path),
					browser.Until(page.ready+` && document.getElementById("live").textContent === "live"`),
					offline(true),
					browser.Until(`document.querySelector("#notes h2")?.textContent.startsWith("This page lost the stage at ")`),
					browser.Until(page.ready+` && document.getElementById("live").textContent === "no connection"`),
				)
				for _, fault := range browser.Faults(b, string(axe), size[0] < 760) {
					t.Errorf("%s: %s", what, fault)
				}
				b.Screenshot(what + ".png")
				b.Run(
					offline(false),
					browser.Until(`!document.querySelector("#notes h2") && document.getElementById("live").textContent === "live"`),
				)
			}
		}
	}
}
