package web

import (
	"net/http"
	"strings"
	"testing"
)

// A browser without a token gets a form, whose parts need none; other clients get the refusal as before. A token that
// is sent is kept in a cookie that scripts cannot read; another site cannot send one.
func TestSignIn(t *testing.T) {
	server := serving(t, pageOf(Options{Title: "secret yard"}, fakeStage{}), Access{Loopback: true, Token: "teaches", View: "reads"})
	ask := func(method, path, body string, headers ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		reply, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reply.Body.Close() })
		return reply
	}
	page := ask(http.MethodGet, "/names", "", "Accept", "text/html")
	if page.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
		!strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the form: %s %v", page.Status, page.Header)
	}
	for path, want := range map[string]int{
		"/static/style.css": http.StatusOK, "/static/signin.js": http.StatusOK, "/names": http.StatusUnauthorized,
		"/page/shell": http.StatusUnauthorized, "/api/state": http.StatusUnauthorized, "/events": http.StatusUnauthorized,
	} {
		if r := ask(http.MethodGet, path, ""); r.StatusCode != want {
			t.Errorf("%s without a token: %s", path, r.Status)
		}
	}
	for token, want := range map[string]int{"teaches": http.StatusNoContent, "reads": http.StatusNoContent, "": http.StatusUnauthorized, "x": http.StatusUnauthorized} {
		r := ask(http.MethodPost, "/signin", `{"token":"`+token+`"}`)
		cookies := r.Cookies()
		if r.StatusCode != want || (want == http.StatusNoContent) != (len(cookies) == 1) {
			t.Errorf("%q: %s, %v", token, r.Status, cookies)
		}
		for _, c := range cookies {
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
				t.Errorf("the cookie %v", c)
			}
		}
	}
	if r := ask(http.MethodPost, "/signin", `{"token":"teaches"}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); r.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: %s", r.Status)
	}
	if r := ask(http.MethodPost, "/api/names", `{}`, "Authorization", "Bearer reads"); r.StatusCode != http.StatusForbidden {
		t.Errorf("a token for reading teaches: %s", r.Status)
	}
}
