package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed static
var static embed.FS

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
	for _, page := range []string{"review", "names", "unknown"} {
		mux.HandleFunc("GET /"+page, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, page+".html")
		})
	}
	for route, serve := range p.routes() {
		mux.HandleFunc(route, serve)
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
