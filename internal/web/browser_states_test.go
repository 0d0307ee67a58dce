//go:build browser

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/test/browser"
)

// yard is a stage with cameras and names, whose page a test looks at.
type yard struct {
	cameras, names, groups, questions int
	plain, forgetful                  bool // no pictures; recent items are not kept
	silent, trouble, readOnly, locked bool
	cut                               bool  // no broker answers
	refused                           int64 // records that could not be used
	slow                              bool  // nothing of the stage is known yet
	restarted                         bool  // more cameras are known from before, one has moved, and another process has the rest
}

// serve serves the page of a yard and returns its address.
func (y yard) serve(t *testing.T) string {
	t.Helper()
	_, address := y.open(t)
	return address
}

// name is the name of a thing of a yard.
func name(i int) string {
	return fmt.Sprintf("%s %d", []string{"courier", "night guard", "forklift", "van"}[i%4], i)
}

// open serves the page of a yard, and returns it with its address.
func (y yard) open(t *testing.T) (*Page, string) {
	t.Helper()
	attributes := json.RawMessage(pixel)
	if y.plain {
		attributes = nil
	}
	l := newTaughtStage()
	var kept *recent.Store
	if !y.forgetful {
		kept = recent.New(1 << 20)
	}
	var strangers []recent.Stranger
	for i := range y.names {
		id := fmt.Sprintf("e%03d", i)
		l.examples[id] = record.Example{
			ID: id, Label: name(i), By: "jo", At: time.Unix(1e9, 0), Vector: []float32{1, float32(i)}, Attributes: attributes,
		}
	}
	for i := range 4 * y.groups {
		it := recent.Item{
			ID: fmt.Sprint("in/0/", i), Name: fmt.Sprint("s", i), Stream: "dock 1", Time: time.Now().Add(-time.Minute),
			Label: name(0), Confidence: .26, Unknown: true, Attributes: attributes,
		}
		found := recent.Found{Item: it, Vector: []float32{1, float32(i)}}
		strangers = append(strangers, recent.Stranger{Found: found, Group: i / 4})
	}
	l.strangers = func() ([]recent.Stranger, error) { return strangers, nil }
	l.status = func() pipeline.Summary {
		s := pipeline.Summary{Answered: 4000, Unknown: 240, LagSeconds: .8, Refused: y.refused}
		if y.trouble {
			s.LagSeconds = 39434
			for i := range 3 {
				s.Troubles = append(s.Troubles, health.Trouble{
					What: fmt.Sprintf("nothing can be taught: the labels topic refuses records (%d)", i), Cause: "no right to write yard-labels",
					Do: "slkstream check --create",
				})
			}
		}
		if y.cut {
			s.Lag, s.Troubles = -1, []health.Trouble{
				{What: "cut off for 41s: it reads and answers nothing", Do: "see that the brokers run"},
			}
		}
		return s
	}
	if y.restarted {
		for i := range 12 {
			l.remembered = append(l.remembered, fmt.Sprintf("dock %d", 2+i))
		}
		slices.Sort(l.remembered)
		l.elsewhere = []string{"http://stage-b:8070"}
	}
	page := New(Options{
		Title: "Harbour yard", Feed: "--out yard --brokers kafka:9092", Recent: kept,
		Say: func(context.Context, []record.Out) error { return nil },
	})
	page.stage = l
	y.feed(page, attributes)
	access := Access{Loopback: true}
	if y.readOnly {
		access.Token, access.View = "teaches", "reads"
	} else if y.locked {
		access.Token = "opens"
	}
	served := access.Guard(page.Handler())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if y.slow && strings.HasPrefix(r.URL.Path, "/page/") {
			select {
			case <-r.Context().Done():
			case <-t.Context().Done():
			}
			return
		}
		served.ServeHTTP(w, r)
	}))
	showing, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { page.Run(showing); close(done) }()
	t.Cleanup(func() { stop(); <-done; server.Close() })
	return page, server.URL
}

// feed has the page answer items of the last hour, and ask about some.
func (y yard) feed(page *Page, attributes json.RawMessage) {
	now := time.Now()
	camera := func(i int) string { return fmt.Sprintf("dock %d", 1+i) }
	for back := 59; back >= 0; back-- {
		at := now.Add(-time.Duration(back) * time.Minute)
		page.streams.now = func() time.Time { return at }
		for i := range y.cameras {
			if y.silent && i == y.cameras-1 && back < 26 {
				continue
			}
			var results []record.Result
			for k := range 3 {
				label := name((i*7 + back/9 + k) % max(1, y.names))
				results = append(
					results,
					record.Result{Stream: camera(i), Label: label, Confidence: .9, Time: at, Unknown: k == 2 && (i+back)%9 == 0},
				)
			}
			page.told(results, nil, false)
		}
	}
	page.streams.now = time.Now
	e := &episode{Stream: "dock 1", Number: 7, Closed: "size", Trace: []float64{3, 2, 1}, Edges: [][2]int32{{0, 1}}}
	for i := range 14 * min(1, y.cameras) {
		settled := i%3 != 0
		e.items = append(e.items, item{Example: fmt.Sprint("x", i), Vector: []float32{1, float32(i)}, Result: record.Result{
			ID: fmt.Sprint("in/0/", 100+i), Stream: camera(i % y.cameras), Label: name(i % max(1, y.names)), Confidence: .8,
			Unknown: i%5 == 4, Settled: &settled, Time: now, Attributes: attributes,
		}, was: &wasView{Label: name(0)}})
	}
	if y.cameras > 0 {
		page.offer(e)
	}
	for i := range y.questions {
		page.told(nil, []record.Review{{
			ID: fmt.Sprint("q", i), Stream: "dock 1", Time: now, Vector: []float32{1, 0}, Attributes: attributes, Guess: record.Guess{
				Label: name(0), Confidence: .5, Unknown: i == 0, Alternatives: []record.Alternative{{Label: name(1 + i), Confidence: .4}},
			},
		}}, false)
	}
}

// Every page in every state fits the window, wide and narrow, light and dark: axe-core finds nothing serious, contrast
// included, nothing scrolls sideways, and on a phone what is pressed is 44 pixels high. The header is one line.
func TestPageStates(t *testing.T) {
	axe, err := os.ReadFile(os.Getenv("SLKSTREAM_AXE"))
	if err != nil {
		t.Fatalf("SLKSTREAM_AXE names axe.min.js, which .ci/fetch.sh fetches: %v", err)
	}
	usual := yard{cameras: 20, names: 30, groups: 6, questions: 14, silent: true}
	states := []struct {
		name, path string
		yard
		ready, then string // scripts: until the page shows it, and what opens the rest
	}{
		{
			"live",
			"/",
			usual,
			`document.querySelectorAll("#cameras li").length === 20 && document.querySelectorAll("#latest .tile").length >= 9`,
			"",
		},
		{
			"live-details",
			"/",
			usual,
			`document.querySelectorAll("#latest .tile").length >= 9`,
			`document.querySelector("#details summary").click()`,
		},
		{
			"live-item",
			"/",
			usual,
			`document.querySelectorAll("#latest .tile").length >= 9`,
			`document.querySelector("#latest .tile").click()`,
		},
		{
			"loading", "/",
			yard{slow: true},
			`document.querySelectorAll(".ghosts i").length === 21 && document.querySelector("main").textContent === "" &&
				document.getElementById("live").textContent === "connecting"`,
			"",
		},
		{"live-one", "/", yard{cameras: 1, names: 1, questions: 1}, `document.querySelectorAll("#where .row").length === 2`, ""},
		{
			"live-many",
			"/",
			yard{cameras: 200, names: 200, groups: 6},
			`document.querySelectorAll("#cameras li").length === 200 && document.documentElement.scrollHeight < 4000`,
			"",
		},
		{
			"live-plain",
			"/",
			yard{cameras: 20, names: 30, groups: 6, plain: true},
			`document.querySelectorAll("#latest .pic.plain").length >= 9`,
			"",
		},
		{
			"live-restarted",
			"/",
			yard{cameras: 4, names: 30, restarted: true},
			`document.querySelectorAll("#cameras li.quiet").length === 9 && document.querySelector("#cameras button.quiet").textContent.endsWith("moved") &&
				document.querySelector("#elsewhere a").textContent === "stage-b:8070" && document.querySelector("h1").textContent === "All 3 cameras are answering."`,
			"",
		},
		{
			"live-empty",
			"/",
			yard{},
			`document.querySelector(".blank pre")?.textContent.includes("--key cam-7 --out yard --brokers kafka:9092 --rate")`,
			"",
		},
		{
			"live-cut",
			"/",
			yard{cameras: 20, names: 30, groups: 6, cut: true},
			`document.querySelector("h1")?.textContent === "No camera is answered now."`,
			"",
		},
		{
			"live-refused",
			"/",
			yard{refused: 41},
			`document.querySelector("h1")?.textContent === "Not one of 41 records could be used." &&
				document.querySelector(".blank pre").textContent.startsWith("slkstream dead list")`,
			"",
		},
		{
			"live-forgetful",
			"/",
			yard{cameras: 2, names: 3, forgetful: true},
			`document.querySelectorAll("#cameras li").length === 2`,
			"",
		},
		{
			"live-trouble",
			"/",
			yard{cameras: 20, names: 30, trouble: true},
			`document.querySelector("h1")?.textContent === "The names below are 11 h old."`,
			`document.querySelector(".others-too summary").click()`,
		},
		{
			"live-reads",
			"/?token=reads",
			yard{cameras: 20, names: 30, groups: 6, questions: 3, readOnly: true},
			`!!document.querySelector(".readonly") && !document.querySelector("main .primary")`,
			"",
		},
		{"review", "/review", usual, `document.querySelectorAll(".trio figure").length === 3`, ""},
		{
			"review-several",
			"/review",
			usual,
			`document.querySelectorAll(".trio figure").length === 3 || document.querySelectorAll("#queue .tile").length === 12`,
			`document.querySelector(".progress .seg button:last-child").click()`,
		},
		{
			"review-empty",
			"/review",
			yard{cameras: 1, names: 3},
			`document.querySelector("h1")?.textContent === "Nothing to review."`,
			"",
		},
		{
			"review-reads",
			"/review?token=reads",
			yard{cameras: 1, names: 3, questions: 3, readOnly: true},
			`document.querySelector("h1")?.textContent === "Reviewing is teaching." && !document.getElementById("choices")`,
			"",
		},
		{
			"review-many",
			"/review",
			yard{cameras: 2, names: 200, questions: 14},
			`document.querySelectorAll(".trio figure").length === 3`,
			"",
		},
		{
			"unknown-reads",
			"/unknown?token=reads",
			yard{cameras: 20, names: 30, groups: 6, readOnly: true},
			`document.querySelectorAll(".group").length === 6 && !document.querySelector("main input, main .primary")`,
			"",
		},
		{
			"names-reads",
			"/names?name=forklift 2&token=reads",
			yard{cameras: 20, names: 30, readOnly: true},
			`document.querySelectorAll("#examples .tile").length === 1 && !document.querySelector(".title .danger")`,
			"",
		},
		{
			"names-many-one",
			"/names?name=forklift 2",
			yard{cameras: 20, names: 200},
			`document.querySelectorAll("#examples .tile").length === 1 && document.querySelectorAll(".namerow").length === 200`,
			"",
		},
		{"unknown", "/unknown", usual, `document.querySelectorAll(".group").length === 6`, ""},
		{
			"unknown-empty",
			"/unknown",
			yard{cameras: 1, names: 3},
			`document.querySelector("h1")?.textContent === "Everything has a name."`,
			"",
		},
		{
			"names",
			"/names?name=forklift 2",
			usual,
			`document.querySelectorAll("#examples .tile").length === 1 && document.querySelectorAll(".namerow").length === 30`,
			`document.querySelector("#examples .tile").click()`,
		},
		{"names-many", "/names", yard{cameras: 2, names: 200, plain: true}, `document.querySelectorAll(".namerow").length === 200`, ""},
		{
			"names-forget",
			"/names?name=forklift 2",
			usual,
			`!!document.querySelector(".title .danger")`,
			`document.querySelector(".title .danger").click()`,
		},
		{"names-empty", "/names", yard{}, `document.querySelector("h1")?.textContent === "Nothing has a name yet."`, ""},
		// The last ones are refused something, which the console mentions.
		{"signin", "/", yard{locked: true}, `!!document.getElementById("token")`, ""},
		{
			"unknown-forgetful",
			"/unknown",
			yard{cameras: 2, names: 3, forgetful: true},
			`document.querySelector("h1")?.textContent === "Unknown items are not kept."`,
			"",
		},
	}
	b := browser.Open(t)
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			address := s.serve(t)
			for _, size := range [][2]int64{{1400, 900}, {390, 844}} {
				for _, theme := range []string{"light", "dark"} {
					what := fmt.Sprintf("%s-%d-%s", s.name, size[0], theme)
					b.Run(
						browser.Scheme(theme),
						chromedp.EmulateViewport(size[0], size[1]),
						chromedp.Navigate(address+s.path),
						browser.Until(s.ready),
					)
					if s.then != "" {
						browser.Value[bool](b, "("+s.then+") || true")
					}
					b.Run(
						browser.Until(
							`document.getAnimations().every(a => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`,
						),
					)
					for _, fault := range browser.Faults(b, string(axe), size[0] < 760) {
						t.Errorf("%s: %s", what, fault)
					}
					b.Screenshot(what + ".png")
				}
			}
			if !s.locked && s.name != "unknown-forgetful" {
				b.Silent()
			}
			b.Run(chromedp.Navigate("about:blank")) // a page asks its stage until it is left, and this one ends now
		})
	}
}
