//go:build browser

package web

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
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/test/browser"
)

const pixel = `{"image":"data:image/png;base64,` +
	`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}`

// taughtStage is a labels topic in memory, as used by the page.
type taughtStage struct {
	fakeStage
	mu       sync.Mutex
	examples map[string]record.Example
	names    map[string]record.Name
	rejected map[string]record.NotThis
	log      []string
}

func newTaughtStage() *taughtStage {
	return &taughtStage{
		examples: map[string]record.Example{}, names: map[string]record.Name{},
		rejected: map[string]record.NotThis{},
	}
}

func (l *taughtStage) ordered() (list []record.Example) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.examples)) {
		list = append(list, l.examples[id])
	}
	return list
}

func (l *taughtStage) Classes() (labels []string) {
	for _, e := range l.ordered() {
		labels = append(labels, e.Label)
	}
	return labels
}

func (l *taughtStage) Names() []record.Name {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.names))
}

func (l *taughtStage) Examples() iter.Seq[record.Example] { return slices.Values(l.ordered()) }

func (l *taughtStage) Rejections() []record.NotThis {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.rejected))
}

func (l *taughtStage) Counts() (examples, rejections map[string]int) {
	examples, rejections = map[string]int{}, map[string]int{}
	for _, e := range l.ordered() {
		examples[e.Label]++
	}
	for _, r := range l.Rejections() {
		for _, name := range r.Not {
			rejections[name]++
		}
	}
	return examples, rejections
}

func (l *taughtStage) Example(id string) (record.Example, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.examples[id]
	return e, ok
}

// serve serves the page and returns its address.
func (l *taughtStage) serve(t *testing.T, kept *recent.Store) string {
	t.Helper()
	page := New(Options{
		Recent: kept,
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
	})
	page.stage = l
	server := httptest.NewServer(Access{Loopback: true}.Guard(page.Handler()))
	t.Cleanup(server.Close)
	return server.URL
}

// take stores a record that is not an example.
func (l *taughtStage) take(out record.Out) error {
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

// The page of names shows each class with its examples. Renaming, merging, rejecting and taking back show
// what they move, happen after confirmation, and can be undone.
func TestNamesPage(t *testing.T) {
	l := newTaughtStage()
	for i := range 5 {
		id := fmt.Sprintf("e%d", i)
		l.examples[id] = record.Example{
			ID: id, Label: []string{"anna", "kim"}[i/3], By: "jo", At: time.Unix(1e9, 0),
			Vector:     []float32{1, float32(i)},
			Attributes: json.RawMessage(pixel),
		}
	}
	kept := recent.New(1 << 20)
	items := []recent.Item{
		{ID: "in/0/1", Name: "a", Label: "anna"},
		{ID: "in/0/2", Name: "b", Label: "cluster-7"},
	}
	kept.Open("in/0").Add(recent.NewBlock(items, func(int) []float32 { return []float32{1, 1} }))
	l.linked = []labels.Linked{
		{Identity: "shop/identity-5", Of: record.StreamID{Name: "door"}, Cluster: "cluster-7"},
		{Identity: "shop/identity-5", Of: record.StreamID{Name: "yard"}, Cluster: "cluster-9"},
	}
	address := l.serve(t, kept)
	b := browser.Open(t)
	button := func(in, text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("%s button")].find(b => b.textContent === %q)`, in, text)
	}
	click := func(in, text string) {
		t.Helper()
		b.Run(browser.Until(button(in, text)+` && !`+button(in, text)+`.disabled`), browser.Press(button(in, text)))
	}
	confirm := func(says, word string) {
		t.Helper()
		b.Run(
			browser.Until(fmt.Sprintf(`document.querySelector("dialog[open]")?.textContent.replaceAll("\u00a0", " ").includes(%q)`, says)),
			browser.Press(button("dialog", word)),
		)
	}
	into := func(name string) chromedp.Action[chromedp.Void] {
		return browser.Type(`document.querySelector("dialog input")`, name)
	}
	examples := func(n int) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.querySelectorAll("#examples .tile img").length === %d`, n))
	}
	open := func(name string) {
		t.Helper()
		one := fmt.Sprintf(`document.querySelector("#classes [data-name='%s']")`, name)
		b.Run(browser.Until("!!"+one), browser.Press(one),
			browser.Until(fmt.Sprintf(`document.querySelector("#class h1")?.textContent === %q`, name)))
	}
	listed := func(name, says string) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.querySelector("#classes [data-name='%s']")?.textContent.includes(%q)`, name, says))
	}
	b.Run(chromedp.EmulateViewport(390, 844), chromedp.Navigate(address+"/names"))
	open("anna")
	b.Run(examples(3),
		browser.Until(`document.getElementById("class-about").textContent.endsWith("3 examples and 1 recent item.")`),
		browser.Until(`document.querySelector("#examples .t").textContent === "jo"`),
		browser.Until(`document.documentElement.scrollWidth <= innerWidth`))
	b.Screenshot("names.png")

	// Merged by keyboard, and undone.
	b.Run(chromedp.KeyEvent("r"), browser.Until(`document.activeElement.matches("dialog input")`), into("kim"))
	confirm("kim has 2 examples and 0 recent items. 3 examples and 1 recent item of anna are called so too then.", "Merge")
	b.Run(listed("anna", "now called kim"))
	click("#changes", "Undo")
	b.Run(browser.Until(`!document.getElementById("classes").textContent.includes("now called kim")`))

	// One example is not anna, by keyboard: select the first tile, then x.
	b.Run(chromedp.Focus(chromedp.CSS("#examples .tile")), chromedp.KeyEvent("\r"),
		browser.Until(`document.querySelectorAll("#examples [aria-pressed=true]").length === 1`),
		chromedp.KeyEvent("x"))
	confirm("1 example: not anna?", "Not this")
	b.Run(examples(2), browser.Until(`document.querySelectorAll("#rejections .pic").length === 1`))
	click("#changes", "Undo")
	b.Run(examples(3), browser.Until(`!document.getElementById("rejections")`))

	// Two belong to another class: moved by keyboard, and undone.
	b.Run(chromedp.KeyEvent("a"),
		browser.Until(`document.querySelectorAll("#examples [aria-pressed=true]").length === 3`),
		browser.Press(`document.querySelector("#examples .tile")`),
		browser.Until(`document.querySelectorAll("#examples [aria-pressed=true]").length === 2`), chromedp.KeyEvent("m"))
	b.Run(browser.Until(`!!document.querySelector("dialog input")`), into("eve"))
	confirm("Move 2 examples of anna", "Move")
	b.Run(examples(1), listed("eve", "2 examples"))
	click("#changes", "Undo")
	b.Run(examples(3))

	// All are taken back, and restored.
	b.Run(chromedp.KeyEvent("a"),
		browser.Until(`document.querySelectorAll("#examples [aria-pressed=true]").length === 3`))
	click(".selbar", "Take back")
	confirm("Take 3 examples of anna back?", "Take back")
	b.Run(examples(0))
	click("#changes", "Undo")
	b.Run(examples(3))

	// Name a cluster.
	open("cluster-7")
	b.Run(browser.Until(`document.querySelector("#linked").textContent ===
		"shop/identity-5: cluster-7 on door, cluster-9 on yard"`))
	click("#class .title", "Rename")
	b.Run(browser.Until(`!!document.querySelector("dialog input")`), into("bo"))
	confirm("0 examples and 1 recent item are called bo then.", "Rename")
	b.Run(browser.Until(`document.getElementById("changes").textContent.includes("cluster-7 is called bo")`))

	// Another name replaces that one; undone, the first one is in force again.
	click("#class .title", "Rename")
	b.Run(browser.Until(`!!document.querySelector("dialog input")`), into("jo"))
	confirm("are called jo then", "Rename")
	b.Run(listed("cluster-7", "now called jo"))
	click("#changes", "Undo")
	b.Run(listed("cluster-7", "now called bo"))

	// Forget a class: it asks for the name, and gives a receipt.
	open("kim")
	click("#class .title", "Forget")
	b.Run(browser.Until(`document.querySelector("dialog .yes").disabled`), into("kim"))
	confirm("2 examples and 0 recent items", "Forget for ever")
	b.Run(browser.Until(`document.getElementById("receipt")?.rows[1]?.textContent === "labels in forceexamplesnow"`))
	click("dialog", "Close")
	b.Run(browser.Until(`!document.querySelector("#classes [data-name=kim]")`))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.examples) != 3 || len(l.rejected) != 0 || len(l.names) != 1 || l.examples["e2"].Label != "anna" {
		t.Errorf("in the end: %v", l.log)
	}
	b.Silent()
}
