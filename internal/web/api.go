package web

import (
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/record"
)

// openAPI describes the paths below, for people and for client generators.
//
//go:embed openapi.json
var openAPI []byte

const (
	longestLabel = 200     // letters, in UTF-8
	longestBody  = 4 << 20 // bytes: a vector of any model as JSON numbers
	mostLabels   = 1000    // offered to a person
	// bytes of an item's attributes, which are written with an example because of the picture
	longestAttributes = 4 << 10
)

// routes are the API that a labelling tool needs: the items that the stage asks about, teaching, forgetting,
// and the stage's status.
func (p *Page) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"POST /api/review":       p.apiReview,
		"POST /api/review/skip":  p.apiSkip,
		"POST /api/teach":        p.apiTeach,
		"POST /api/forget":       p.apiForget,
		"POST /api/reject":       p.apiReject,
		"GET /api/names":         p.apiNames,
		"GET /api/examples":      p.apiExamples,
		"POST /api/names":        p.apiName,
		"POST /api/names/undo":   p.apiUnname,
		"POST /api/names/forget": p.apiForgetName,
		"POST /api/split":        p.apiSplit,
		"POST /api/preview":      p.apiPreview,
		"GET /api/unknown":       p.apiUnknown,
		"GET /api/why":           p.apiWhy,
		"POST /api/similar":      p.apiSimilar,
		"POST /api/answer":       p.apiAnswer,
		"GET /api/state":         p.apiState,
		"GET /api/streams":       p.apiStreams,
		"GET /api/openapi.json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(openAPI)
		},
	}
}

// reviewView is an item that waits for a label, as the API shows it.
type reviewView struct {
	ID           string            `json:"id"` // to teach it under
	Result       string            `json:"result"`
	Stream       string            `json:"stream"`
	Time         time.Time         `json:"time"`
	Label        string            `json:"label"` // the stage's guess
	Confidence   float64           `json:"confidence"`
	Unknown      bool              `json:"unknown"`
	Alternatives []alternativeView `json:"alternatives,omitempty"`
	Why          string            `json:"why"`
	Image        string            `json:"image,omitempty"`
	Model        string            `json:"model,omitempty"`
	Vector       string            `json:"vector"` // base64 of little-endian float32
	Attributes   json.RawMessage   `json:"attributes,omitempty"`
}

func (p *Page) reviewView(r *record.Review) reviewView {
	v := reviewView{
		ID: r.ID, Result: r.Guess.Result, Stream: r.Stream, Time: r.Time, Label: r.Guess.Label,
		Confidence: zeroIfNot(r.Guess.Confidence),
		Unknown:    r.Guess.Unknown, Model: r.Model, Vector: base64.StdEncoding.EncodeToString(record.AppendVector(nil,
			r.Vector)),
		Attributes: r.Attributes, Image: p.image(r.ID, r.Attributes),
	}
	for _, a := range r.Guess.Alternatives {
		v.Alternatives = append(v.Alternatives, alternativeView{a.Label, zeroIfNot(a.Confidence)})
	}
	switch {
	case r.Guess.Unknown:
		v.Why = "unlike every labelled example"
	case len(v.Alternatives) > 0:
		v.Why = fmt.Sprintf("%s, or %s?", r.Guess.Label, v.Alternatives[0].Label)
	default:
		v.Why = "the stage is not sure"
	}
	return v
}

// apiReview hands items to a person, who holds them for two minutes: no one else gets them meanwhile.
func (p *Page) apiReview(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Who   string `json:"who"`
		Count int    `json:"count"`
	}
	if !read(w, r, &body) {
		return
	}
	count := cmp.Or(body.Count, 1)
	if count < 1 || count > 100 {
		http.Error(w, "count is a whole number from 1 to 100", http.StatusBadRequest)
		return
	}
	holder := body.Who
	if holder == "" || utf8.RuneCountInString(holder) > longestLabel {
		http.Error(w, "who is needed: a name of yours, so that two people do not get the same item",
			http.StatusBadRequest)
		return
	}
	views := []reviewView{}
	for _, review := range p.options.Questions.Take(holder, count) {
		views = append(views, p.reviewView(&review))
	}
	waiting, _ := p.options.Questions.session()
	reply(w, map[string]any{"items": views, "waiting": waiting, "labels": p.labels()})
}

func (p *Page) apiSkip(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID  string `json:"id"`
		Who string `json:"who"`
	}
	if !read(w, r, &body) {
		return
	}
	if !p.options.Questions.Skip(body.Who, body.ID) {
		http.Error(w, "nobody is asked about that item (any more)", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// apiTeach teaches an item that the stage asked about or showed, by its id alone, or any vector under an id
// that the caller chooses.
func (p *Page) apiTeach(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID     string          `json:"id"`
		Label  string          `json:"label"`
		Stream string          `json:"stream"` // for this stream only; empty: for all
		Model  string          `json:"model"`
		Vector json.RawMessage `json:"vector"` // a list of numbers, or base64 of little-endian float32
	}
	if !p.reads(w, r, &body) {
		return
	}
	if body.ID == "" {
		http.Error(w, "id is needed: the example is corrected and forgotten under it", http.StatusBadRequest)
		return
	}
	if !labelled(w, "label", &body.Label) {
		return
	}
	example := &record.Example{
		ID: body.ID, Label: body.Label, Stream: body.Stream, Model: body.Model,
		Time: time.Now(), At: time.Now(), By: p.user(r),
	}
	guess := ""
	if len(body.Vector) > 0 {
		var err error
		if example.Vector, err = record.ParseVector(body.Vector); err != nil {
			http.Error(w, "vector: "+err.Error(), http.StatusBadRequest)
			return
		}
	} else {
		f, ok := p.find(body.ID)
		if !ok {
			http.Error(w, "that item is no longer at hand: send its vector with it", http.StatusNotFound)
			return
		}
		example.ID, example.Model, example.Vector, example.Attributes = f.ID, f.Model, f.Vector, f.Attributes
		guess = f.Label
	}
	if p.say(w, r, func(topic string) []record.Out { return []record.Out{record.Teach(topic, example)} }) {
		p.options.Questions.labelled(example.ID, example.Label, guess)
		p.options.Log.Info("taught", "id", example.ID, "label", example.Label)
	}
}

// user returns the user that a proxy has put into the header Options.UserHeader; "": not known.
func (p *Page) user(r *http.Request) string {
	if p.options.UserHeader == "" {
		return ""
	}
	name := []rune(strings.ToValidUTF8(r.Header.Get(p.options.UserHeader), ""))
	return string(name[:min(len(name), longestLabel)])
}

// apiForget deletes an example.
func (p *Page) apiForget(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID string `json:"id"`
	}
	if !p.reads(w, r, &body) {
		return
	}
	if body.ID == "" {
		http.Error(w, "id is needed: that of the example", http.StatusBadRequest)
		return
	}
	p.keepTakenBack(body.ID)
	if p.say(w, r, func(topic string) []record.Out { return []record.Out{record.Forget(topic, body.ID)} }) {
		p.options.Questions.forgotten(body.ID)
	}
}

// apiState returns the stage's status and what was taught in this session.
func (p *Page) apiState(w http.ResponseWriter, _ *http.Request) {
	waiting, said := p.options.Questions.session()
	p.report(time.Now()) // the status is not updated while no page is open
	p.mu.Lock()
	status := statusView{p.status, p.speed.perSecond()}
	p.mu.Unlock()
	reply(w, map[string]any{
		"title": p.options.Title, "status": status, "labels": p.labels(), "teach": p.options.Say != nil,
		"waiting": waiting, "taught": said,
	})
}

// labels returns the labels that a person can choose from, the most used first: those of Options.Labels,
// those taught in this session, and those of answers.
func (p *Page) labels() []string {
	var labels []string
	if p.options.Labels != nil {
		labels = append(labels, p.options.Labels()...)
	}
	used, said := p.options.Questions.used()
	labels = append(append(labels, said...), slices.Collect(maps.Keys(used))...)
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(used[b], used[a]), strings.Compare(a, b)) })
	labels = slices.Compact(labels)
	return append([]string{}, labels[:min(len(labels), mostLabels)]...)
}

// read decodes a request's JSON. If it returns false, it has answered the request. It requires the
// type application/json, because forms of other sites cannot send it without a preflight request,
// which is never granted.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		http.Error(w, "send application/json", http.StatusUnsupportedMediaType)
		return false
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(into); err != nil {
		http.Error(w, "not the JSON of this path: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
