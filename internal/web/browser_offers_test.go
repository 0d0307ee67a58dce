//go:build browser

package web

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/test/browser"
)

// Of an unknown item Review offers the name that it is most like, not the runner-up, and never a cluster's number. Large
// numbers have separators.
func TestReviewOffersTheLikeliestName(t *testing.T) {
	page, address := yard{cameras: 1, names: 2, questions: 997}.open(t)
	ask := func(id, label string) {
		page.told(nil, []record.Review{{
			ID: id, Stream: "dock 1", Time: time.Now(), Vector: []float32{1, 0}, Attributes: json.RawMessage(pixel),
			Guess: record.Guess{
				Label: label, Confidence: .74, Unknown: true, Alternatives: []record.Alternative{{Label: "t-" + id, Confidence: .18}},
			},
		}}, false)
	}
	ask("cluster", "cluster-17")
	ask("like", "trousers")
	ask("press", "trousers")
	offers := func(id, name string) chromedp.Action[chromedp.Void] {
		return browser.Until(fmt.Sprintf(`document.getElementById("picture")?.dataset.id === %q &&
			[...document.querySelectorAll(".answers .b")].find(b => b.textContent.startsWith("It is "))?.textContent.startsWith("It is %s") &&
			![...document.querySelectorAll("#choices .chip")].some(c => c.dataset.label.startsWith("cluster-"))`, id, name))
	}
	b := browser.Open(t)
	b.Run(
		chromedp.Navigate(address+"/review"), offers("press", "trousers"),
		browser.Until(`document.querySelector(".progress .num").textContent === "0 of 1,000 done"`),
		browser.Press(`[...document.querySelectorAll(".answers .b")].find(b => b.textContent.startsWith("It is trousers"))`),
		offers("like", "trousers"),
		browser.Until(`document.querySelector(".progress .num").textContent === "1 of 1,000 done"`),
		browser.Until(`document.querySelector("#said li p").textContent === "It is trousers"`),
		chromedp.KeyEvent("s"), offers("cluster", "t-cluster"),
	)
	b.Silent()
}

// A cluster's number is no name that a person could confirm or refuse: Review asks what its item is.
func TestReviewAsksWhatAClusterIs(t *testing.T) {
	page, address := yard{cameras: 1, names: 2}.open(t)
	page.told(nil, []record.Review{{
		ID: "one", Stream: "dock 1", Time: time.Now(), Vector: []float32{1, 0}, Attributes: json.RawMessage(pixel),
		Guess: record.Guess{Label: "cluster-17", Confidence: .8, Alternatives: []record.Alternative{{Label: "coat", Confidence: .2}}},
	}}, false)
	b := browser.Open(t)
	b.Run(
		chromedp.Navigate(address+"/review"),
		browser.Until(`document.getElementById("question")?.textContent === "What is this?" &&
		document.querySelector(".ask .sub").textContent.includes("One of the group cluster-17, which nobody has named.") &&
		document.querySelector(".answers .primary").textContent.startsWith("Name it") && document.getElementById("not").disabled`),
	)
	b.Silent()
}

// Cameras that another process has by now are last in every order.
func TestPageMovedCamerasAreLast(t *testing.T) {
	address := yard{cameras: 4, names: 3, restarted: true}.serve(t)
	b := browser.Open(t)
	b.Run(chromedp.Navigate(address), browser.Until(`document.querySelectorAll("#cameras button").length === 4`))
	for _, order := range []string{"unknown", "silent", "busy"} {
		b.Run(
			browser.Press(fmt.Sprintf(`[...document.querySelectorAll(".cams .seg button")].find(b => b.textContent === %q)`, order)),
			browser.Until(fmt.Sprintf(`document.querySelector(".cams .seg [aria-pressed=true]").textContent === %q &&
				[...document.querySelectorAll("#cameras button")].at(-1).textContent.endsWith("moved")`, order)),
		)
	}
	b.Silent()
}
