//go:build browser

package main

import (
	"bufio"
	"bytes"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// The demo's page shows three belts; a person names the new thing once, by keyboard, and it is in the labels topic.
// The browser reports no errors.
func TestPageInABrowser(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "120")
	address, broker := d.line(t, `page +(http://\S+)`)[1], d.line(t, `broker +(\S+),`)[1]
	d.discard(t)
	b := browser.Open(t)
	b.Run(
		chromedp.EmulateViewport(1280, 900),
		chromedp.Navigate(address),
		browser.Until(`document.title === "Live – Lost property – slkstream"`),
		browser.Until(`document.querySelectorAll(".curve path").length === 6`),
		browser.Until(`document.querySelectorAll("#taught .tile img").length === 10`),
		browser.Until(`/^\d+%$/.test(document.querySelector(".figure .big").textContent)`),
		browser.Until(`document.querySelector(".hero h1").textContent === "Something new is coming that has no name."`),
		chromedp.Focus(chromedp.CSS("#name-it")),
		chromedp.KeyEvent("\r"),
		browser.Until(`document.activeElement.id === "its-name"`),
		chromedp.SendKeys(chromedp.CSS("#its-name"), "lost tag\r"),
		browser.Until(`document.querySelector(".hero h1").textContent === "That was all: lost tag is known to all three cameras."`),
		browser.Until(`document.querySelectorAll("#taught .tile img").length === 11`),
		browser.Press(`document.querySelector("#details summary")`),
		browser.Until(
			`document.querySelectorAll("#map-chart .node").length === 40 && document.querySelectorAll("#map-chart .edge").length > 10`,
		),
		browser.Until(`document.querySelectorAll("#objective-chart .curve").length === 1`),
	)
	if taught := lessons(t, broker); len(taught) != 11 || taught[10] != "lost tag" {
		t.Errorf("the labels topic ends with %q", taught[max(len(taught)-2, 0):])
	}
	// It pauses by a key, and goes on.
	b.Run(chromedp.KeyEvent("p"), browser.Until(`document.getElementById("pause").ariaPressed === "true"`),
		chromedp.KeyEvent("p"), browser.Until(`document.getElementById("pause").ariaPressed === "false"`))
	// Looking for a name leads to the usual page: when it was last seen and by which camera, and which camera has most unknowns.
	b.Run(chromedp.SendKeys(chromedp.CSS("#find"), "coat\r"),
		browser.Until(`/camera [123]/.test(document.querySelector("#where .row .last .cam")?.textContent) &&
			[...document.querySelectorAll("#where a.who")].every(a => a.textContent.endsWith("coat"))`),
		browser.Press(`[...document.querySelectorAll(".cams .seg button")].find(b => b.textContent === "unknown")`),
		browser.Until(`document.querySelector("#cameras li .cam").textContent.startsWith("camera ")`))
	b.Silent()
}

// In every theme and width, the demo's page has no fault of axe-core's, nothing is wider than the window, and what is pressed on a
// phone is 44 pixels high. With SLKSTREAM_SCREENSHOTS set to a folder, the
// test saves screenshots.
func TestPageFitsEveryWindow(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "40")
	address := d.line(t, `page +(http://\S+)`)[1]
	d.line(t, `^camera 1 +6 `) // enough episodes to show something
	d.discard(t)
	b := browser.Open(t)
	axe, err := os.ReadFile(os.Getenv("SLKSTREAM_AXE"))
	if err != nil && os.Getenv("SLKSTREAM_SCREENSHOTS") == "" {
		t.Fatalf("SLKSTREAM_AXE names axe.min.js, which .ci/fetch.sh fetches: %v", err)
	}
	keep, enough := os.Getenv("SLKSTREAM_SCREENSHOTS"), `document.querySelector(".hero h1")?.textContent.startsWith("Something new")`
	if keep != "" { // docs/page.png is light-desktop.png: the camera has tilted, and the curves have parted
		enough = `[...document.querySelectorAll(".curve .v")].some(v => Number(v.textContent.replace(/\D/g, "")) < 80) &&
			document.querySelector(".hero .new img") && document.querySelector("canvas").dataset.things > innerWidth / 58`
	}
	for _, theme := range []string{"dark", "light"} { // light last, as are the pictures of docs
		for name, size := range map[string][2]int64{"desktop": {1440, 960}, "phone": {390, 844}} {
			if err := chromedp.Do(b, browser.Scheme(theme), chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(address),
				browser.Until(enough), browser.Until(`document.querySelectorAll(".curve path").length === 6`)); err != nil {
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
			if keep == "" {
				for _, fault := range browser.Faults(b, string(axe), size[0] < 760) {
					t.Errorf("%s %s: %s", theme, name, fault)
				}
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
	if keep != "" { // the pictures of docs/labelling.md
		b.Run(chromedp.EmulateViewport(1400, 900))
		for page, ready := range map[string]string{
			"review": `document.querySelectorAll(".trio img").length === 3`,
			"names":  `document.querySelectorAll("#examples img").length > 0 && document.querySelectorAll(".mix li").length > 0`,
		} {
			b.Run(chromedp.Navigate(address+"/"+page), browser.Until(ready))
			b.Screenshot(page + ".png")
		}
	}
	b.Silent()
}
