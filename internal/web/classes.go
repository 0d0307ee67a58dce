package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
)

const mostExamples = 200 // listed of a class, the latest

// classView is a class that people taught, or a cluster.
type classView struct {
	Class      string        `json:"class"`
	Examples   int           `json:"examples"`
	Rejections int           `json:"rejections"`
	Recent     int           `json:"recent"` // recent items with this label
	Confused   *confusedView `json:"confused,omitempty"`
}

// confusedView is the class that another one is most often confused with.
type confusedView struct {
	Label string  `json:"label"`
	Items float64 `json:"items"` // expected number of wrong answers between the two
}

// classes lists the classes that have examples, rejections or recent items, by name.
func (p *Page) classes() []classView {
	of := map[string]*classView{}
	class := func(name string) *classView {
		if of[name] == nil {
			of[name] = &classView{Class: name}
		}
		return of[name]
	}
	examples, rejections := p.stage.Counts()
	for name, n := range examples {
		class(name).Examples = n
	}
	for name, n := range rejections {
		class(name).Rejections = n
	}
	if p.options.Recent != nil {
		p.options.Recent.Each(func(it *recent.Item) {
			if !it.Unknown {
				class(it.Label).Recent++
			}
		})
	}
	confused := p.questions.confused()
	out := []classView{}
	for name, v := range of {
		if c, ok := confused[name]; ok {
			v.Confused = &c
		}
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b classView) int {
		return cmp.Or(cmp.Compare(b.Examples, a.Examples), cmp.Compare(b.Recent, a.Recent),
			cmp.Compare(a.Class, b.Class))
	})
	out = out[:min(len(out), mostLabels)]
	slices.SortFunc(out, func(a, b classView) int { return strings.Compare(a.Class, b.Class) })
	return out
}

// exampleView is an example or a rejection as the API shows it.
type exampleView struct {
	ID     string    `json:"id"`
	ItemID string    `json:"itemId,omitempty"` // the sender's
	Label  string    `json:"label,omitempty"`
	Not    []string  `json:"not,omitempty"`
	Stream string    `json:"stream,omitempty"` // left out: all streams
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Image  string    `json:"image,omitempty"`
	// Moved is the number of recent items whose label this example has changed.
	Moved int `json:"moved"`
}

// apiExamples lists the examples and rejections of a class, the latest first.
func (p *Page) apiExamples(r *http.Request) (any, error) {
	class := r.URL.Query().Get("class")
	if err := labelled("class", &class); err != nil {
		return nil, err
	}
	var examples, rejections []exampleView
	attributes := map[string]json.RawMessage{}
	for e := range p.stage.Examples() {
		if e.Label == class {
			examples = append(examples, exampleOf(&e))
			attributes[e.ID] = e.Attributes
		}
	}
	for _, n := range p.stage.Rejections() {
		if slices.Contains(n.Not, class) {
			rejections = append(rejections, exampleView{ID: n.ID, ItemID: n.ItemID, Not: n.Not, Stream: n.Stream, By: n.By, At: n.At})
		}
	}
	all := len(examples)
	examples, rejections = latest(examples), latest(rejections)
	p.illustrate(attributes, examples, rejections)
	return map[string]any{"examples": examples, "rejections": rejections, "all": all}, nil
}

// latest returns the last mostExamples of a list, the last one first.
func latest(list []exampleView) []exampleView {
	list = append([]exampleView{}, list[max(0, len(list)-mostExamples):]...)
	slices.Reverse(list)
	return list
}

// illustrate sets the pictures of examples, from their own attributes or those of their items, and the number
// of recent items that each has moved.
func (p *Page) illustrate(of map[string]json.RawMessage, lists ...[]exampleView) {
	moved := map[string]int{}
	take := func(id string, attributes json.RawMessage) {
		if len(of[id]) == 0 {
			of[id] = attributes
		}
	}
	if p.options.Recent != nil {
		p.options.Recent.Each(func(it *recent.Item) {
			take(it.Name, it.Attributes)
			if cause := it.Cause; cause != "" {
				moved[cause]++
			}
		})
	}
	p.mu.Lock()
	for _, item := range p.shown.items {
		take(item.Example, item.Result.Attributes)
	}
	p.mu.Unlock()
	for _, list := range lists {
		for i := range list {
			e := &list[i]
			e.Image, e.Moved = p.image(e.ItemID, e.ID, of[e.ID]), moved[e.ID]
		}
	}
}
