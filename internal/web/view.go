package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
)

// The views are the JSON that the page's script reads.

type helloView struct {
	Demo  []Scene `json:"demo,omitempty"`
	Score any     `json:"score,omitempty"`
}

// scoreView is the score of the demo.
type scoreView struct {
	All     demo.Pair            `json:"all"`
	Cameras map[string]demo.Pair `json:"cameras"`
	Curves  map[string][]point   `json:"curves"`
	Called  string               `json:"called"` // what people call the new thing; "": it has no name yet
	Aside   demo.Score           `json:"aside"`  // the things of All that the stage shows without a name
}

func (p *Page) scoreView() *scoreView {
	v := &scoreView{
		All:     p.board.All,
		Cameras: map[string]demo.Pair{},
		Called:  p.board.Called,
		Aside:   p.board.Aside,
		Curves:  map[string][]point{},
	}
	maps.Copy(v.Cameras, p.board.Cameras) // none before the first score
	for camera, c := range p.curves {
		v.Curves[camera] = c.points
	}
	return v
}

type statusView struct {
	pipeline.Summary
	PerSecond float64 `json:"perSecond"`
}

type episodeView struct {
	episode
	Items    []itemView `json:"items"`
	MaxWrong float64    `json:"maxWrong,omitempty"`
}

type itemView struct {
	ID           string               `json:"id"`
	Stream       string               `json:"stream"`
	Name         string               `json:"name"`
	Label        string               `json:"label"`
	Confidence   float64              `json:"confidence"`
	Calibrated   bool                 `json:"calibrated"`
	Sure         *bool                `json:"sure,omitempty"`
	SureFrom     float64              `json:"sureFrom,omitempty"`
	Unknown      bool                 `json:"unknown"`
	Score        float64              `json:"score"`
	Taught       bool                 `json:"taught"`
	Alternatives []record.Alternative `json:"alternatives,omitempty"`
	Image        string               `json:"image,omitempty"`
	Truth        string               `json:"truth,omitempty"`
	Fresh        bool                 `json:"fresh,omitempty"` // the demo's new thing, as long as it has no name
	Settled      bool                 `json:"settled"`         // false: a first answer
	Was          *wasView             `json:"was,omitempty"`   // the first answer, where the episode changed it
	Time         time.Time            `json:"time"`
	X            float32              `json:"x"`
	Y            float32              `json:"y"`
}

type wasView struct {
	Label   string `json:"label"`
	Unknown bool   `json:"unknown"`
}

func (p *Page) view(e *episode, points []complex128) *episodeView {
	v := &episodeView{
		episode: *e, Items: make([]itemView, len(e.items)), MaxWrong: p.options.MaxWrong,
	}
	for i := range e.items {
		v.Items[i] = p.itemView(&e.items[i])
		v.Items[i].X, v.Items[i].Y = float32(real(points[i])), float32(imag(points[i]))
	}
	return v
}

func (p *Page) itemView(of *item) itemView {
	r := &of.Result
	truth := demo.About(r.Attributes).Truth
	isNew := truth == demo.Newcomer && p.options.Demo != nil
	if isNew { // it is what people call it
		truth = p.board.Called
	}
	return itemView{
		ID: r.ID, Stream: r.Stream, Name: shownName(r.ItemID, of.Example), Label: r.Label,
		Confidence: zeroUnlessFinite(r.Confidence), Calibrated: r.Calibrated, Unknown: r.Unknown, Sure: r.Sure,
		SureFrom: zeroUnlessFinite(r.SureFrom), Score: zeroUnlessFinite(r.UnknownScore), Taught: of.Taught,
		Image: p.image(r.ItemID, of.Example, r.Attributes), Alternatives: shownOf(r.Alternatives),
		Truth: truth, Fresh: isNew && truth == "",
		Time: r.Time, Settled: of.settled(), Was: of.was,
	}
}

// shownOf returns alternatives with confidences that JSON can represent.
func shownOf(list []record.Alternative) []record.Alternative {
	list = slices.Clone(list)
	for i := range list {
		list[i].Confidence = zeroUnlessFinite(list[i].Confidence)
	}
	return list
}

// shownName is what people and addresses of pictures call an item: the sender's id, or else its result's.
func shownName(itemID, key string) string { return cmp.Or(itemID, record.ResultOf(key), key) }

// image returns the address of the picture of an item with that sender's id, key and attributes; "": none.
// An attribute may hold the picture itself, as a data URL, or point at hosts that the operator
// allows. Other hosts are refused, because a browser reaches its whole network and a request can do
// more than load a picture.
func (p *Page) image(itemID, key string, of json.RawMessage) string {
	if p.options.ImageURL != "" {
		return strings.ReplaceAll(p.options.ImageURL, "{id}", url.PathEscape(shownName(itemID, key)))
	}
	attribute := demo.About(of).Image
	switch u, err := url.Parse(attribute); {
	case err != nil:
	case u.Scheme == "data" && strings.HasPrefix(u.Opaque, "image/"),
		(u.Scheme == "http" || u.Scheme == "https") && p.allowed(u.Host):
		return attribute
	}
	return ""
}

func (p *Page) allowed(host string) bool {
	return slices.ContainsFunc(p.options.ImageHosts, func(h string) bool {
		return h == "*" || strings.EqualFold(h, host)
	})
}

// policy returns the Content-Security-Policy: the page may run its own script only, and load pictures from
// the permitted places only.
func (p *Page) policy() string {
	images := "'self' data:"
	if u, err := url.Parse(p.options.ImageURL); err == nil && u.Host != "" {
		images += " " + u.Scheme + "://" + u.Host
	}
	if slices.Contains(p.options.ImageHosts, "*") {
		images += " http: https:"
	} else {
		for _, host := range p.options.ImageHosts {
			images += " http://" + host + " https://" + host
		}
	}
	return policyWith(images)
}

// policyWith is the Content-Security-Policy with these sources of pictures.
func policyWith(images string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " + images +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// onlyFinite leaves out values that JSON cannot represent.
func onlyFinite(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, x := range values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			out = append(out, x)
		}
	}
	return out
}

func zeroUnlessFinite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
