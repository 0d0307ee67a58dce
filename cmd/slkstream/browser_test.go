//go:build browser

package main

import (
	"bufio"
	"bytes"
	"context"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/test/browser"
)

// discard drops the rest of the demo's output until the test ends.
func (d *demoRun) discard(t *testing.T) {
	rest, done := d.out, make(chan struct{})
	d.out = bufio.NewReader(strings.NewReader(""))
	go func() {
		_, _ = io.Copy(io.Discard, rest)
		close(done)
	}()
	t.Cleanup(func() { d.stop(); <-done })
}

// The page loads and updates, a click teaches, and the browser reports no errors.
func TestPageInABrowser(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "120")
	address, broker := d.line(t, `page +(http://\S+)`)[1], d.line(t, `broker +(\S+),`)[1]
	d.discard(t)
	b := browser.Open(t)
	b.Run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address),
		browser.Until(`document.querySelectorAll("#strip .tile").length > 5`))
	title, first := browser.Value[string](
		b,
		`document.title`,
	), browser.Value[string](
		b,
		`document.querySelector("#figure-episode dd").textContent`,
	)
	if !strings.Contains(title, "demo") {
		t.Errorf("title %q", title)
	}
	b.Run(
		browser.Until(`document.querySelector("#figure-episode dd").textContent !== "`+first+`"`), // it moves
		browser.Until(
			`document.querySelectorAll("#map-chart .node").length === 40 && document.querySelectorAll("#map-chart .edge").length > 10`,
		),
		browser.Until(`document.querySelectorAll("#accuracy-chart .curve").length === 4`),
		browser.Until(`document.querySelectorAll("#objective-chart .curve").length === 1`),
		browser.Until(`[...document.querySelectorAll("#strip img")].every(i => i.complete && i.naturalWidth === 28)`),
	)
	// Items come at once, and are settled where they are; what the episode changed is marked, and said.
	b.Run(browser.Until(`(window.waits = document.querySelector("#strip .tile.unsettled")) !== null`),
		browser.Until(`!window.waits.matches(".unsettled") && !window.waits.title.includes("not settled")`),
		browser.Until(`!document.getElementById("legend-first").hidden`),
		browser.Until(`[...document.querySelectorAll(".tile.unsettled")].every(
			t => t.ariaLabel.includes("not settled yet"))`),
		browser.Until(`document.querySelector("#bins .tile") && !document.querySelector("#bins .tile.unsettled")`),
		browser.Until(`document.querySelector(".tile.changed")?.title.includes(", at first ")`))
	// By keyboard: focus a tile, open it, choose the third label by its number.
	b.Run(chromedp.Focus(chromedp.CSS("#strip .tile")), chromedp.KeyEvent("\r"),
		browser.Until(`document.querySelector("#teach").open`))
	third := browser.Value[string](b, `document.querySelectorAll("#teach-choices button")[2].childNodes[1].textContent`)
	b.Run(chromedp.KeyEvent("3"),
		browser.Until(`!document.querySelector("#teach").open && document.querySelector("#toast").textContent.includes("Taught")`))
	// By mouse, a new label.
	b.Run(chromedp.Click(chromedp.CSS("#strip .tile:nth-child(2)")),
		browser.Until(`document.querySelector("#teach").open`),
		chromedp.SendKeys(chromedp.CSS("#teach-other"), "hat"), chromedp.Click(chromedp.CSS("#teach-send")),
		browser.Until(`!document.querySelector("#teach").open`))
	b.Run(browser.Until(`document.querySelectorAll(".tile.taught").length > 0`))
	taught := lessons(t, broker)
	if n := len(taught); n < 2 || taught[n-1] != "hat" || taught[n-2] != third {
		t.Errorf("the labels topic ends with %q, not %q and hat", taught[max(n-2, 0):], third)
	}
	b.Silent()
}

// In every theme and width, nothing is wider than the window. With SLKSTREAM_SCREENSHOTS set to a folder, the
// test saves screenshots.
func TestPageFitsEveryWindow(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "40")
	address := d.line(t, `page +(http://\S+)`)[1]
	d.line(t, `^ +12 `) // enough episodes to show something
	d.discard(t)
	b := browser.Open(t)
	keep, enough := os.Getenv("SLKSTREAM_SCREENSHOTS"), `document.querySelectorAll(".tile").length > 12`
	if keep != "" { // docs/page.png is light-desktop.png: the light has fallen, and the curves have parted
		enough = `Number(document.querySelector("#figure-speed .aside").textContent.replace(/\D/g, "")) > 1900 &&
			document.querySelectorAll(".tile").length > 60`
	}
	for _, theme := range []string{"light", "dark"} {
		for name, size := range map[string][2]int64{"desktop": {1440, 960}, "phone": {390, 844}} {
			dark := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
					emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
						Name:  "prefers-color-scheme",
						Value: theme,
					}}})
				return err
			})
			if err := chromedp.Do(b, dark, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(address),
				browser.Until(enough), browser.Until(`document.querySelectorAll("#accuracy-chart .curve").length === 4`)); err != nil {
				t.Fatalf("%s %s: %v", theme, name, err)
			}
			wide := browser.Value[bool](b, `document.documentElement.scrollWidth > innerWidth`)
			picture, err := chromedp.Run(b, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatalf("%s %s: %v", theme, name, err)
			}
			if wide {
				t.Errorf("%s %s: the page is wider than the window", theme, name)
			}
			if _, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil {
				t.Errorf("%s %s: %v", theme, name, err)
			}
			if keep != "" {
				if err := os.WriteFile(filepath.Join(keep, theme+"-"+name+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	b.Silent()
}
