package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

// pageNames are the pages; that of live is at /.
var pageNames = []string{"live", "review", "unknown", "names"}

// document returns a page. What it shows is made by its script.
func document(page string) []byte {
	var out bytes.Buffer
	if err := layout.Execute(&out, struct{ Page, Title string }{page, titles[page]}); err != nil {
		panic(err) // cannot happen: the layout is embedded
	}
	return out.Bytes()
}

//go:embed layout.html
var layoutText string

var (
	layout = template.Must(template.New("").Parse(layoutText))
	titles = map[string]string{
		"live": "Live", "review": "Review", "unknown": "Unknown", "names": "Names", "signin": "Sign in",
	}
)

// Handler serves the page at /, its events and its API. It does not check access: wrap it in Guard.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{name}", serveAsset)
	mux.HandleFunc("GET /events", p.events)
	for _, page := range pageNames {
		content, path := document(page), "GET /"+page
		if page == "live" {
			path = "GET /{$}"
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(content)
		})
	}
	for route, serve := range p.routes() {
		mux.HandleFunc(route, p.crowd.admit(serve))
	}
	for route, serve := range p.pageRoutes() {
		mux.HandleFunc(route, p.crowd.admit(serve))
	}
	policy := p.policy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w, policy)
		mux.ServeHTTP(w, r)
	})
}

// protect sets the headers that every page has.
func protect(w http.ResponseWriter, policy string) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}
