package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/first"
)

const (
	mostAsked  = 256  // vectors of one question
	askedEach  = 1000 // questions a second
	askedBurst = 200  // beyond that, at once
)

// answerView is an answer to a vector that is no item.
type answerView struct {
	Label        string               `json:"label"`
	Confidence   float64              `json:"confidence"`
	Calibrated   bool                 `json:"calibrated"`
	Unknown      bool                 `json:"unknown"`
	UnknownScore float64              `json:"unknownScore"`
	Alternatives []record.Alternative `json:"alternatives,omitempty"`
}

// allowance is how often something may be done: so many times a second, and some more at once.
type allowance struct {
	each, burst float64

	mutex sync.Mutex
	left  float64
	since time.Time
}

func (a *allowance) take(now time.Time) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.since.IsZero() {
		a.left = a.burst
	} else {
		a.left = min(a.burst, a.left+a.each*max(0, now.Sub(a.since).Seconds()))
	}
	a.since = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

// limited refuses requests beyond a number a second.
func (p *Page) limited(serve handler) handler {
	return func(r *http.Request) (any, error) {
		if !p.asked.take(time.Now()) {
			return nil, refuse(http.StatusTooManyRequests,
				"more than %d questions a second: ask for several vectors at once", askedEach).with("Retry-After", "1")
		}
		return serve(r)
	}
}

// apiAnswer answers a vector, or the vectors of one moment, by what the stage knows of a stream. With ?learn
// they then enter it.
func (p *Page) apiAnswer(r *http.Request, body *struct {
	Vector  json.RawMessage   `json:"vector"`
	Vectors []json.RawMessage `json:"vectors"`
	Model   string            `json:"model"`
},
) (any, error) {
	query := r.URL.Query()
	for key := range query {
		if key != "stream" && key != "learn" {
			return nil, wrong("unknown parameter %q: /api/answer takes stream and learn", key)
		}
	}
	if learn := query.Get("learn"); learn != "" && learn != "true" && learn != "false" {
		return nil, wrong("learn=%s: give learn=true or learn=false", learn)
	}
	name := query.Get("stream")
	list := body.Vectors
	if body.Vector != nil {
		list = append(list, body.Vector)
	}
	switch {
	case name == "":
		return nil, wrong("name the stream: /api/answer?stream=NAME")
	case len(list) == 0 || len(list) > mostAsked || body.Vector != nil && body.Vectors != nil:
		return nil, wrong("vector, or vectors with 1 to %d, is needed", mostAsked)
	}
	vectors := make([][]float32, len(list))
	for i, text := range list {
		var err error
		if vectors[i], err = record.ParseVector(text); err != nil {
			return nil, wrong("vector: %v", err)
		}
	}
	answers, err := p.stage.Ask(name, body.Model, vectors)
	switch {
	case errors.Is(err, first.ErrNoStream):
		return nil, p.elsewhere(r, name, err)
	case errors.Is(err, first.ErrBusy):
		return nil, refuse(http.StatusServiceUnavailable, "%v", err)
	case err != nil:
		return nil, wrong("%v", err)
	}
	if learns(r) {
		if err := p.stage.Enter(r.Context(), name, body.Model, vectors); err != nil {
			return nil, p.failed(http.StatusBadGateway, "the input topic did not take it", err, "stream", name)
		}
	}
	views := make([]answerView, len(answers))
	for i, a := range answers {
		views[i] = answerView{
			Label: a.Label, Confidence: zeroUnlessFinite(a.Confidence), Calibrated: a.Calibrated, Unknown: a.Unknown,
			UnknownScore: zeroUnlessFinite(a.UnknownScore),
		}
		for _, other := range a.Alternatives {
			views[i].Alternatives = append(views[i].Alternatives, record.Alternative(other))
		}
	}
	return map[string]any{"answers": views}, nil
}

// learns says whether the vectors of a question are to enter their stream: &learn, but not &learn=false.
func learns(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("learn") && query.Get("learn") != "false"
}

// elsewhere says which process to ask instead, where it is known.
func (p *Page) elsewhere(r *http.Request, stream string, why error) error {
	owner, err := p.stage.Owner(r.Context(), stream)
	if err != nil {
		p.options.Log.Warn("the owner of a stream is not known", "stream", stream, "error", err)
	}
	if owner == "" {
		return refuse(http.StatusNotFound, "%v", why)
	}
	return refuse(http.StatusNotFound, "%v: ask %s", why, owner).
		with("Location", strings.TrimSuffix(owner, "/")+r.URL.RequestURI())
}
