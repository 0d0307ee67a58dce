package web

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
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

// OpenAPI returns the description of the API, for clients that are made from it. It must not be changed.
func OpenAPI() []byte { return openAPI }

const (
	longestLabel = 200     // letters, in UTF-8
	longestBody  = 4 << 20 // bytes of a request: a vector of any model as JSON numbers
	mostLabels   = 1000    // offered to a person
	// bytes of an item's attributes, which are written with an example because of the picture
	longestAttributes = 4 << 10
)

// routes are the API that a labelling tool needs: the items that the stage asks about, teaching, forgetting,
// and the stage's status.
func (p *Page) routes() map[string]handler {
	return map[string]handler{
		"POST /api/review":       asked(p.apiReview),
		"POST /api/review/skip":  asked(p.apiSkip),
		"POST /api/teach":        said(p, p.apiTeach),
		"POST /api/forget":       said(p, p.apiForget),
		"POST /api/reject":       said(p, p.apiReject),
		"GET /api/names":         p.apiNames,
		"GET /api/examples":      p.apiExamples,
		"POST /api/names":        said(p, p.apiName),
		"POST /api/names/undo":   said(p, p.apiUnname),
		"POST /api/names/forget": said(p, p.apiForgetName),
		"POST /api/split":        said(p, p.apiSplit),
		"POST /api/preview":      said(p, p.apiPreview),
		"GET /api/unknown":       p.apiUnknown,
		"GET /api/why":           p.apiWhy,
		"POST /api/similar":      asked(p.apiSimilar),
		"POST /api/answer":       p.limited(asked(p.apiAnswer)),
		"GET /api/state":         p.apiState,
		"GET /api/streams":       p.apiStreams,
		"GET /api/openapi.json":  func(*http.Request) (any, error) { return json.RawMessage(openAPI), nil },
	}
}

// refusal is a request that is not served: its status and why, for people, and a header, if it needs one.
type refusal struct {
	status        int
	why           string
	header, value string
}

func (r refusal) Error() string { return r.why }

// with returns the refusal with a header.
func (r refusal) with(header, value string) refusal { r.header, r.value = header, value; return r }

// refuse makes a refusal.
func refuse(status int, format string, args ...any) refusal {
	return refusal{status: status, why: fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) refusal { return refuse(http.StatusBadRequest, format, args...) }

// failed logs why something was not done, and refuses the request with what is safe to show.
func (p *Page) failed(status int, what string, err error, about ...any) refusal {
	p.options.Log.Error(what, append(about, "error", err)...)
	return refuse(status, "%s; the log says why", what)
}

// send sends a reply in JSON, no content if it is nil, or the refusal.
func send(w http.ResponseWriter, reply []byte, err error) {
	var r refusal
	switch {
	case errors.As(err, &r):
		if r.header != "" {
			w.Header().Set(r.header, r.value)
		}
		http.Error(w, r.why, r.status)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case reply == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply)
	}
}

// handler serves a path of the API. It returns the reply as a value for JSON, nil if there is none, or an
// error, which may be a refusal.
type handler func(*http.Request) (any, error)

// asked serves a path with a JSON body. It requires the type application/json, because forms of other sites
// cannot send it without a preflight request, which is never granted.
func asked[Body any](serve func(*http.Request, *Body) (any, error)) handler {
	return func(r *http.Request) (any, error) {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return nil, refuse(http.StatusUnsupportedMediaType, "send application/json")
		}
		var body Body
		if err := decode(r.Body, &body); err != nil {
			return nil, err
		}
		return serve(r, &body)
	}
}

// decode reads the one JSON object of a request. It refuses keys that the body does not have, as one with a
// typing error would have no effect and no one would notice.
func decode(from io.Reader, body any) error {
	d := json.NewDecoder(from)
	d.DisallowUnknownFields()
	err := d.Decode(body)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		return wrong("something follows the JSON of the request")
	}
	key, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	var mistyped *json.UnmarshalTypeError
	switch isType := errors.As(err, &mistyped); {
	case unknown:
		return wrong("unknown key %s: this path takes %s", key, keysOf(body))
	case isType && mistyped.Field != "":
		return wrong("%s: a %s is not what this key takes", mistyped.Field, mistyped.Value)
	case isType || err == io.EOF:
		return wrong("send one JSON object with keys of %s", keysOf(body))
	}
	return wrong("not JSON: %v", err)
}

// keysOf lists the JSON keys of a struct.
func keysOf(body any) string {
	var keys []string
	for field := range reflect.TypeOf(body).Elem().Fields() {
		keys = append(keys, field.Tag.Get("json"))
	}
	return strings.Join(keys, ", ")
}

// said is asked for paths that write to the labels topic.
func said[Body any](p *Page, serve func(*http.Request, *Body) (any, error)) handler {
	if p.options.Say != nil {
		return asked(serve)
	}
	return func(*http.Request) (any, error) {
		return nil, refuse(http.StatusConflict, "no labels topic: start the stage with --labels TOPIC to teach")
	}
}

// reviewView is an item that waits for a label, as the API shows it. Its label is the stage's guess.
type reviewView struct {
	RecentView
	Alternatives []record.Alternative `json:"alternatives,omitempty"`
	Why          string               `json:"why"`
	Attributes   json.RawMessage      `json:"attributes,omitempty"`
}

func (p *Page) reviewView(r *record.Review) reviewView {
	v := reviewView{Attributes: r.Attributes, Alternatives: shownOf(r.Guess.Alternatives), RecentView: RecentView{
		ID: r.ID, ItemID: r.ItemID, Result: r.Guess.Result, Stream: r.Stream, Time: r.Time, Label: r.Guess.Label,
		Confidence: zeroUnlessFinite(r.Guess.Confidence), Unknown: r.Guess.Unknown, Model: r.Model,
		Vector: vectorText(r.Vector), Image: p.image(r.ItemID, r.ID, r.Attributes),
	}}
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
func (p *Page) apiReview(_ *http.Request, body *struct {
	Who   string `json:"who"`
	Count int    `json:"count"`
},
) (any, error) {
	count := cmp.Or(body.Count, 1)
	if count < 1 || count > 100 {
		return nil, wrong("count is a whole number from 1 to 100")
	}
	if body.Who == "" || utf8.RuneCountInString(body.Who) > longestLabel {
		return nil, wrong("who is needed: a name of yours, so that two people do not get the same item")
	}
	views := []reviewView{}
	for _, review := range p.questions.Take(body.Who, count) {
		views = append(views, p.reviewView(&review))
	}
	waiting, different, _ := p.questions.session()
	return map[string]any{"items": views, "waiting": waiting, "different": different, "labels": p.labels()}, nil
}

func (p *Page) apiSkip(_ *http.Request, body *struct {
	ID  string `json:"id"`
	Who string `json:"who"`
},
) (any, error) {
	if utf8.RuneCountInString(body.Who) > longestLabel {
		return nil, wrong("who has more than %d letters", longestLabel)
	}
	if !p.questions.Skip(body.Who, body.ID) {
		return nil, refuse(http.StatusNotFound, "nobody is asked about that item (any more)")
	}
	return nil, nil
}

// apiTeach teaches an item that the stage asked about or showed, by its id alone, or any vector under an id
// that the caller chooses, which is another one in each stream.
func (p *Page) apiTeach(r *http.Request, body *struct {
	ID     string          `json:"id"`
	Label  string          `json:"label"`
	Stream string          `json:"stream"` // for this stream only; empty: for all
	Model  string          `json:"model"`
	Vector json.RawMessage `json:"vector"` // a list of numbers, or base64 of little-endian float32
},
) (any, error) {
	if body.ID == "" {
		return nil, wrong("id is needed: the example is corrected and forgotten under it")
	}
	if err := newly("label", &body.Label); err != nil {
		return nil, err
	}
	example := &record.Example{
		ID: p.chosenKey(body.ID, body.Stream), Label: body.Label, Stream: body.Stream, Model: body.Model,
		Time: time.Now(), At: time.Now(), By: p.user(r),
	}
	guess := ""
	if len(body.Vector) > 0 {
		if err := record.CheckKey(example.ID); err != nil {
			return nil, wrong("id: %v", err)
		}
		var err error
		if example.Vector, err = record.ParseVector(body.Vector); err != nil {
			return nil, wrong("vector: %v", err)
		}
		if d := p.stage.Dimension(body.Model); d > 0 && d != len(example.Vector) {
			return nil, wrong("vector has %d numbers, and the feed's vectors of model %q have %d", len(example.Vector),
				body.Model, d)
		}
	} else {
		f, err := p.find(body.ID)
		if err != nil {
			return nil, err
		}
		example.ID, example.ItemID, example.Model, example.Vector, example.Attributes = f.ID, f.ItemID, f.Model, f.Vector, f.Attributes
		guess = f.Label
	}
	if err := p.say(r, record.Teach(p.options.LabelsTopic, example)); err != nil {
		return nil, err
	}
	p.questions.labelled(example.ID, example.Label, guess)
	p.options.Log.Info("taught", "id", example.ID, "label", example.Label)
	return nil, nil
}

// user returns the user that a proxy has put into the header Options.UserHeader; "": not known.
func (p *Page) user(r *http.Request) string {
	if p.options.UserHeader == "" {
		return ""
	}
	name := []rune(strings.ToValidUTF8(r.Header.Get(p.options.UserHeader), ""))
	return string(name[:min(len(name), longestLabel)])
}

// chosenKey returns the key of an example under an id that its author chose for a stream; "": for all. One that
// is in force for this stream under the id itself keeps it.
func (p *Page) chosenKey(id, stream string) string {
	if e, known := p.stage.Example(id); known && e.Stream == stream {
		return id
	}
	return record.StreamKey(stream, id)
}

// apiForget deletes an example.
func (p *Page) apiForget(r *http.Request, body *struct {
	ID     string `json:"id"`
	Stream string `json:"stream"` // for which it was taught; empty: for all
},
) (any, error) {
	if body.ID == "" {
		return nil, wrong("id is needed: that of the example")
	}
	key := p.keyOf(p.chosenKey(body.ID, body.Stream))
	if err := record.CheckKey(key); err != nil {
		return nil, wrong("id: %v", err)
	}
	if _, inForce := p.stage.Example(key); !inForce {
		f, err := p.find(body.ID) // by the sender's id
		if r := (refusal{}); errors.As(err, &r) && r.status == http.StatusConflict {
			return nil, err
		}
		key = cmp.Or(f.ID, key)
	}
	p.keepTakenBack(key)
	if err := p.say(r, record.Forget(p.options.LabelsTopic, key)); err != nil {
		return nil, err
	}
	p.questions.forgotten(key)
	p.named.takeBack(key)
	p.strangers.drop()
	return nil, nil
}

// apiState returns the stage's status and what was taught in this session.
func (p *Page) apiState(*http.Request) (any, error) {
	waiting, _, said := p.questions.session()
	return map[string]any{
		"title": p.options.Title, "status": p.status(time.Now()), "labels": p.labels(),
		"teach": p.options.Say != nil, "waiting": waiting, "taught": said,
	}, nil
}

// labels returns the labels that a person can choose from, the most used first: those of the stage, those
// taught in this session, and those of answers.
func (p *Page) labels() []string {
	used, said := p.questions.used()
	labels := slices.Concat(p.stage.Classes(), said, slices.Collect(maps.Keys(used)))
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(used[b], used[a]), strings.Compare(a, b)) })
	labels = slices.Compact(labels)
	return append([]string{}, labels[:min(len(labels), mostLabels)]...)
}
