package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
)

//go:embed static
var static embed.FS

//go:embed pages
var pages embed.FS

// pageNames are the pages beside the live one.
var pageNames = []string{"review", "unknown", "names"}

// document returns a page: what all pages begin with, and its own part.
func document(page string) []byte {
	var out bytes.Buffer
	t := template.New("").Funcs(template.FuncMap{"pages": func() []string { return pageNames }})
	template.Must(t.ParseFS(pages, "pages/layout.html", "pages/"+page+".html"))
	if err := t.ExecuteTemplate(&out, "layout.html", page); err != nil {
		panic(err) // cannot happen: pages is embedded
	}
	return out.Bytes()
}

// Handler serves the page at /, its events and its API. It does not check access: wrap it in Guard.
func (p *Page) Handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // cannot happen: static is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.FileServerFS(files))
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	mux.HandleFunc("GET /events", p.events)
	for _, page := range pageNames {
		content := document(page)
		mux.HandleFunc("GET /"+page, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(content)
		})
	}
	for route, serve := range p.routes() {
		mux.HandleFunc(route, p.crowd.admit(serve))
	}
	policy := p.policy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	})
}
