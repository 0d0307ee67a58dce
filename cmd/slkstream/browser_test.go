//go:build browser

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// complaints are the errors in the browser's console.
type complaints struct {
	mu   sync.Mutex
	said []string
}

func (c *complaints) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.said {
		t.Errorf("the browser says: %s", s)
	}
}

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

// browse opens a headless browser and collects its complaints.
func browse(t *testing.T) (context.Context, *complaints) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("no browser: %v", err)
	}
	c := &complaints{}
	var listening sync.WaitGroup
	console := chromedp.Console(ctx)
	listening.Go(func() {
		for message, err := range console {
			if err != nil {
				return
			}
			switch message.Type {
			case chromedp.ConsoleError, chromedp.ConsoleWarning, chromedp.ConsoleException:
				c.mu.Lock()
				c.said = append(c.said, message.Text+" "+message.URL)
				c.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); stop(); listening.Wait() })
	return ctx, c
}

// runner returns a function that performs actions in the browser, one after another.
func runner(t *testing.T, ctx context.Context, c *complaints) func(...chromedp.Action[chromedp.Void]) {
	return func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			c.check(t)
			t.Fatal(err)
		}
	}
}

// screenshot saves the browser's view in the folder named by SLKSTREAM_SCREENSHOTS, if set.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	folder := os.Getenv("SLKSTREAM_SCREENSHOTS")
	if folder == "" {
		return
	}
	shot, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), shot, 0o644); err != nil {
		t.Fatal(err)
	}
}

// waitUntil waits until the script returns true.
func waitUntil(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Poll[bool](script, chromedp.WithPollingTimeout(time.Minute),
			chromedp.WithPollingInterval(50*time.Millisecond))(ctx, t)
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", script, err)
		}
		return nil
	})
}

// value evaluates a script on the page.
func value[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// The page loads and updates, a click teaches, and the browser reports no errors.
func TestPageInABrowser(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "120")
	address, broker := d.line(t, `page +(http://\S+)`)[1], d.line(t, `broker +(\S+),`)[1]
	d.discard(t)
	ctx, complaints := browse(t)
	run := runner(t, ctx, complaints)
	run(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address),
		waitUntil(`document.querySelectorAll("#strip .tile").length > 5`))
	title, first := value[string](t, ctx, `document.title`), value[string](t, ctx,
		`document.querySelector("#figure-episode dd").textContent`)
	if !strings.Contains(title, "demo") {
		t.Errorf("title %q", title)
	}
	run(waitUntil(`document.querySelector("#figure-episode dd").textContent !== "`+first+`"`), // it moves
		waitUntil(`document.querySelectorAll("#map-chart .node").length === 40 && document.querySelectorAll("#map-chart .edge").length > 10`),
		waitUntil(`document.querySelectorAll("#accuracy-chart .curve").length === 4`),
		waitUntil(`document.querySelectorAll("#objective-chart .curve").length === 1`),
		waitUntil(`[...document.querySelectorAll("#strip img")].every(i => i.complete && i.naturalWidth === 28)`))
	// Items come at once, and are settled where they are; what the episode changed is marked, and said.
	run(waitUntil(`(window.waits = document.querySelector("#strip .tile.unsettled")) !== null`),
		waitUntil(`!window.waits.matches(".unsettled") && !window.waits.title.includes("not settled")`),
		waitUntil(`!document.getElementById("legend-first").hidden`),
		waitUntil(`[...document.querySelectorAll(".tile.unsettled")].every(
			t => t.ariaLabel.includes("not settled yet"))`),
		waitUntil(`document.querySelector("#bins .tile") && !document.querySelector("#bins .tile.unsettled")`),
		waitUntil(`document.querySelector(".tile.changed")?.title.includes(", at first ")`))
	// By keyboard: focus a tile, open it, choose the third label by its number.
	run(chromedp.Focus(chromedp.CSS("#strip .tile")), chromedp.KeyEvent("\r"),
		waitUntil(`document.querySelector("#teach").open`))
	third := value[string](t, ctx, `document.querySelectorAll("#teach-choices button")[2].childNodes[1].textContent`)
	run(chromedp.KeyEvent("3"),
		waitUntil(`!document.querySelector("#teach").open && document.querySelector("#toast").textContent.includes("Taught")`))
	// By mouse, a new label.
	run(chromedp.Click(chromedp.CSS("#strip .tile:nth-child(2)")),
		waitUntil(`document.querySelector("#teach").open`),
		chromedp.SendKeys(chromedp.CSS("#teach-other"), "hat"), chromedp.Click(chromedp.CSS("#teach-send")),
		waitUntil(`!document.querySelector("#teach").open`))
	run(waitUntil(`document.querySelectorAll(".tile.taught").length > 0`))
	taught := lessons(t, broker)
	if n := len(taught); n < 2 || taught[n-1] != "hat" || taught[n-2] != third {
		t.Errorf("the labels topic ends with %q, not %q and hat", taught[max(n-2, 0):], third)
	}
	complaints.check(t)
}

// In every theme and width, nothing is wider than the window. With SLKSTREAM_SCREENSHOTS set to a folder, the
// test saves screenshots.
func TestPageFitsEveryWindow(t *testing.T) {
	d := startDemo(t, "--listen", "127.0.0.1:0", "--rate", "40")
	address := d.line(t, `page +(http://\S+)`)[1]
	d.line(t, `^ +12 `) // enough episodes to show something
	d.discard(t)
	ctx, complaints := browse(t)
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
			if err := chromedp.Do(ctx, dark, chromedp.EmulateViewport(size[0], size[1]), chromedp.Navigate(address),
				waitUntil(enough), waitUntil(`document.querySelectorAll("#accuracy-chart .curve").length === 4`)); err != nil {
				t.Fatalf("%s %s: %v", theme, name, err)
			}
			wide := value[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`)
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
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
	complaints.check(t)
}
