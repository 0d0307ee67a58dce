//go:build browser

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/web"
)

const pixel = `{"image":"data:image/png;base64,` +
	`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}`

// taught is a labels topic in memory, as used by the page.
type taught struct {
	mu       sync.Mutex
	examples map[string]record.Example
	names    map[string]record.Name
	rejected map[string]record.NotThis
	log      []string
}

func newTaught() *taught {
	return &taught{
		examples: map[string]record.Example{}, names: map[string]record.Name{},
		rejected: map[string]record.NotThis{},
	}
}

func (l *taught) options() web.Options {
	ordered := func() (list []record.Example) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(l.examples)) {
			list = append(list, l.examples[id])
		}
		return list
	}
	return web.Options{
		Labels: func() (labels []string) {
			for _, e := range ordered() {
				labels = append(labels, e.Label)
			}
			return labels
		},
		Names: func() []record.Name {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Collect(maps.Values(l.names))
		},
		Examples: func() iter.Seq[record.Example] { return slices.Values(ordered()) },
		Rejections: func() []record.NotThis {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Collect(maps.Values(l.rejected))
		},
		Counts: func() (examples, rejections map[string]int) {
			examples, rejections = map[string]int{}, map[string]int{}
			for _, e := range ordered() {
				examples[e.Label]++
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, r := range l.rejected {
				for _, name := range r.Not {
					rejections[name]++
				}
			}
			return examples, rejections
		},
		Example: func(id string) (record.Example, bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			e, ok := l.examples[id]
			return e, ok
		},
		Say: func(_ context.Context, out []record.Out) error {
			for _, r := range out {
				if err := l.take(r); err != nil {
					return err
				}
			}
			return nil
		},
		ForgetName: func(_ context.Context, n record.Name) ([]record.Receipt, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			maps.DeleteFunc(l.examples, func(_ string, e record.Example) bool { return e.Label == n.Name })
			return []record.Receipt{{Where: "labels in force", What: "examples", Until: "now"}}, nil
		},
	}
}

// take stores a record that is not an example.
func (l *taught) take(out record.Out) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := string(out.Key)
	l.log = append(l.log, id+" "+string(out.Value))
	delete(l.examples, id)
	delete(l.rejected, id)
	delete(l.names, id)
	var what struct {
		Name, Into, Stream, Label string
		Attributes                json.RawMessage
		Not                       []string
	}
	if len(out.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(out.Value, &what); err != nil {
		return err
	}
	if what.Label != "" {
		l.examples[id] = record.Example{
			ID: id, Label: what.Label, Vector: []float32{1, 0},
			Attributes: what.Attributes,
		}
	} else if what.Not != nil {
		l.rejected[id] = record.NotThis{ID: id, Not: what.Not, Vector: []float32{1, 0}}
	} else {
		l.names[id] = record.Name{Name: what.Name, Into: what.Into, Stream: what.Stream}
	}
	return nil
}

// webServer serves a page and returns its address.
func webServer(t *testing.T, o web.Options) string {
	t.Helper()
	server := httptest.NewServer(web.Access{Loopback: true}.Guard(web.New(o).Handler()))
	t.Cleanup(server.Close)
	return server.URL
}

// The page of names shows each class with its examples. Renaming, merging, rejecting and taking back show
// what they move, happen after confirmation, and can be undone.
func TestNamesPage(t *testing.T) {
	l := newTaught()
	for i := range 5 {
		id := fmt.Sprintf("e%d", i)
		l.examples[id] = record.Example{
			ID: id, Label: []string{"anna", "kim"}[i/3], By: "jo", At: time.Unix(1e9, 0),
			Vector:     []float32{1, float32(i)},
			Attributes: json.RawMessage(pixel),
		}
	}
	o := l.options()
	o.Recent = recent.New(1 << 20)
	items := []recent.Item{
		{ID: "in/0/1", Name: "a", Label: "anna"},
		{ID: "in/0/2", Name: "b", Label: "cluster-7"},
	}
	o.Recent.Open("in/0").Add(recent.NewBlock(items, func(int) []float32 { return []float32{1, 1} }))
	address := webServer(t, o)
	ctx, complaints := browse(t)
	run := runner(t, ctx, complaints)
	button := func(in, text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("%s button")].find(b => b.textContent === %q)`, in, text)
	}
	click := func(in, text string) {
		t.Helper()
		run(waitUntil(button(in, text)+` && !`+button(in, text)+`.disabled`), press(button(in, text)))
	}
	confirm := func(says string) {
		t.Helper()
		run(waitUntil(`document.getElementById("sure").open`),
			waitUntil(fmt.Sprintf(`document.getElementById("sure-text").textContent.includes(%q)`, says)),
			press(button("#sure", "Do it")))
	}
	examples := func(n int) chromedp.Action[chromedp.Void] {
		return waitUntil(fmt.Sprintf(`document.querySelectorAll("#examples .tile img").length === %d`, n))
	}
	run(chromedp.EmulateViewport(390, 844), chromedp.Navigate(address+"/names"))
	click("#classes", "anna")
	run(examples(3),
		waitUntil(`document.getElementById("class-about").textContent === "3 examples and 1 recent item"`),
		waitUntil(`document.querySelector("#examples figcaption").textContent.includes("jo")`),
		waitUntil(`document.documentElement.scrollWidth <= innerWidth`))
	screenshot(t, ctx, "names.png")

	// Merged by keyboard, and undone.
	run(chromedp.KeyEvent("r"), waitUntil(`document.activeElement.id === "into"`),
		chromedp.SetValue(chromedp.CSS("#into"), "kim"),
		press(button("#rename", "Rename or merge")))
	confirm("Merge anna into kim, which has 2 examples and 0 recent items? " +
		"3 examples and 1 recent item are called kim then.")
	run(waitUntil(`document.getElementById("classes").textContent.includes("→ kim")`))
	click("#changes", "undo")
	run(waitUntil(`!document.getElementById("classes").textContent.includes("→ kim")`))

	// One example is not anna, by keyboard: select the first tile, then x.
	run(chromedp.Focus(chromedp.CSS("#examples .tile")), chromedp.KeyEvent("\r"),
		waitUntil(`document.querySelectorAll("#examples [aria-pressed=true]").length === 1`),
		chromedp.KeyEvent("x"))
	confirm("Say of 1 example that it is not anna?")
	run(examples(2), waitUntil(`document.querySelectorAll("#rejections img, #rejections .blank").length === 1`))
	click("#changes", "undo")
	run(examples(3), waitUntil(`document.getElementById("rejected").hidden`))

	// Two belong to another class: split, and undo.
	run(chromedp.KeyEvent("a"),
		waitUntil(`document.querySelectorAll("#examples [aria-pressed=true]").length === 3`),
		press(`document.querySelector("#examples .tile")`), chromedp.SetValue(chromedp.CSS("#into"), "eve"))
	click("#acts", "split")
	confirm("Teach 2 examples of anna as eve?")
	run(examples(1), waitUntil("!!"+button("#classes", "eve")))
	click("#changes", "undo")
	run(examples(3))

	// All are taken back, and restored.
	run(chromedp.KeyEvent("a"),
		waitUntil(`document.querySelectorAll("#examples [aria-pressed=true]").length === 3`))
	click("#acts", "take back")
	confirm("Take 3 examples of anna back?")
	run(examples(0))
	click("#changes", "undo")
	run(examples(3))

	// Name a cluster.
	click("#classes", "cluster-7")
	run(waitUntil(`document.getElementById("class-title").textContent === "cluster-7"`),
		chromedp.SendKeys(chromedp.CSS("#into"), "bo"),
		press(button("#rename", "Rename or merge")))
	confirm("Rename cluster-7 to bo? 0 examples and 1 recent item are called bo then.")
	run(waitUntil(`document.getElementById("changes").textContent.includes("cluster-7 is called bo")`))

	// Another name replaces that one; undone, the first one is in force again.
	run(chromedp.SetValue(chromedp.CSS("#into"), "jo"), press(button("#rename", "Rename or merge")))
	confirm("Rename cluster-7 to jo?")
	run(waitUntil(`document.getElementById("classes").textContent.includes("→ jo")`))
	click("#changes", "undo")
	run(waitUntil(`document.getElementById("classes").textContent.includes("→ bo")`))

	// Forget a class.
	click("#classes", "kim")
	run(waitUntil(`document.getElementById("class-title").textContent === "kim"`))
	click("#acts", "forget kim")
	confirm("Forget kim? 2 examples and 0 recent items, its rejections and all that was learned of it go in " +
		"every process. This cannot be undone")
	run(waitUntil("!" + button("#classes", "kim")))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.examples) != 3 || len(l.rejected) != 0 || len(l.names) != 1 || l.examples["e2"].Label != "anna" {
		t.Errorf("in the end: %v", l.log)
	}
	complaints.check(t)
}

// press clicks on the element that a script finds, anywhere on the page.
func press(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool]("("+script+").click() || true")(ctx, t)
		return err
	})
}
