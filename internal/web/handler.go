package web

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

//go:embed static
var static embed.FS

// Handler serves the page at /, its events and its teaching. It guards nothing by itself: wrap it in Guard.
func (p *Page) Handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // static is in the binary
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.FileServerFS(files))
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	mux.HandleFunc("GET /events", p.events)
	mux.HandleFunc("POST /teach", p.teach)
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

// lesson is what the page sends to teach.
type lesson struct {
	ID    string `json:"id"` // of the result
	Label string `json:"label"`
}

// teach sends an item that was shown, with the label a person gave it, to the labels topic.
func (p *Page) teach(w http.ResponseWriter, r *http.Request) {
	if p.options.Teach == nil {
		http.Error(w, "no labels topic: start the stage with --labels TOPIC to teach", http.StatusConflict)
		return
	}
	// A form of another site can send neither this type nor this header without asking first, and nobody says yes.
	if r.Header.Get("X-Slkstream") != "teach" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		http.Error(w, "teaching is for the page itself", http.StatusForbidden)
		return
	}
	var l lesson
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<14)).Decode(&l); err != nil {
		http.Error(w, "not a lesson: "+err.Error(), http.StatusBadRequest)
		return
	}
	const longest = 200
	if l.Label = strings.TrimSpace(l.Label); l.Label == "" || len(l.Label) > longest {
		http.Error(w, "a label has 1 to 200 letters", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	item := p.recent.items[l.ID]
	p.mu.Unlock()
	if item == nil {
		http.Error(w, "that item is no longer at hand; choose a newer one", http.StatusNotFound)
		return
	}
	example := &record.Example{ID: item.Example, Label: l.Label, Model: item.Result.Model, Time: time.Now(), Vector: item.Vector}
	if err := p.options.Teach(r.Context(), example); err != nil {
		p.options.Log.Error("a label could not be taught", "id", item.Example, "label", l.Label, "error", err)
		http.Error(w, "the labels topic did not take it; the log says why", http.StatusBadGateway)
		return
	}
	p.options.Log.Info("taught", "id", item.Example, "label", l.Label)
	w.WriteHeader(http.StatusNoContent)
}
