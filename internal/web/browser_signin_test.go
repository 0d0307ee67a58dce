//go:build browser

package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/slkstream/slkstream/test/browser"
)

// Where a token is needed the page asks for it, by keyboard: a wrong one is refused with a word, the right one opens
// the page that was asked for.
func TestPageAsksForTheToken(t *testing.T) {
	address := yard{cameras: 2, names: 3, locked: true}.serve(t)
	b := browser.Open(t)
	b.Run(chromedp.Navigate(address+"/names"), browser.Until(`document.activeElement.id === "token"`),
		chromedp.SendKeys(chromedp.CSS("#token"), "no such token\r"),
		browser.Until(`document.getElementById("err").textContent === "That is not the token. Was all of it copied?"`),
		browser.Until(`document.activeElement.id === "token"`))
	b.Run(browser.Type(`document.getElementById("token")`, ""), chromedp.SendKeys(chromedp.CSS("#token"), "opens\r"),
		browser.Until(`document.querySelectorAll(".namerow").length === 3`))
	if cookie := browser.Value[string](b, `document.cookie`); cookie != "" {
		t.Errorf("scripts see the cookie %q", cookie)
	}
}
