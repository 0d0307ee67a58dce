//go:build browser

// Package browser drives the page in a headless Chromium.
package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Browser is a window of a headless browser.
type Browser struct {
	context.Context
	t    *testing.T
	mu   sync.Mutex
	said []string // the errors in its console
}

// Open opens a browser, which is closed when the test ends.
func Open(t *testing.T) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("no browser: %v", err)
	}
	b := &Browser{Context: ctx, t: t}
	var listening sync.WaitGroup
	console := chromedp.Console(ctx)
	listening.Go(func() {
		for message, err := range console {
			if err != nil {
				return
			}
			switch message.Type {
			case chromedp.ConsoleError, chromedp.ConsoleWarning, chromedp.ConsoleException:
				b.mu.Lock()
				b.said = append(b.said, message.Text+" "+message.URL)
				b.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); stop(); listening.Wait() })
	return b
}

// Silent fails the test if the console has errors.
func (b *Browser) Silent() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.t.Errorf("the browser says: %s", s)
	}
}

// Run performs actions one after another.
func (b *Browser) Run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.Silent()
		b.t.Fatal(err)
	}
}

// Screenshot saves the view in the folder named by SLKSTREAM_SCREENSHOTS, if set.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("SLKSTREAM_SCREENSHOTS")
	if folder == "" {
		return
	}
	shot, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), shot, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// Value evaluates a script on the page.
func Value[T any](b *Browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Until waits until the script returns true.
func Until(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		poll := chromedp.Poll[bool](script, chromedp.WithPollingTimeout(time.Minute),
			chromedp.WithPollingInterval(50*time.Millisecond))
		_, err := poll(ctx, t)
		for err != nil && (strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "find context")) { // the page has opened another one meanwhile
			_, err = poll(ctx, t)
		}
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", script, err)
		}
		return nil
	})
}

// Press clicks on the element that a script finds, anywhere on the page.
func Press(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool]("("+script+").click() || true")(ctx, t)
		return err
	})
}

// Type sets what the field that a script finds holds, as typing does.
func Type(field, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](fmt.Sprintf(
			"(e => { e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })(%s)", text, field))(ctx, t)
		return err
	})
}
