package web

import (
	"net/http"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// found is an example, or an item that could become one.
type found struct {
	record.Example        // with its label or answer; Stream "": for all streams
	seen           string // stream of the item, or of the example
	other          string // label of the runner-up; "": not known
}

// find looks up the id of an item, result, example or rejection: among the examples in force, the items that
// people are asked about, those that were shown, examples deleted or rejected on this page, the rejections,
// and the recent items, whose vectors are approximate. It returns false if the id is no longer known.
func (p *Page) find(id string) (found, bool) {
	f, ok := p.findAll(id)[id]
	return f, ok
}

// findAsked is find for the id of a request.
func (p *Page) findAsked(id string) (found, error) {
	if id == "" {
		return found{}, wrong("id is needed: that of the item")
	}
	f, ok := p.find(id)
	if !ok {
		return found{}, refuse(http.StatusNotFound, "that item is not among the recent ones of this process")
	}
	return f, nil
}

// findAll is find for many ids.
func (p *Page) findAll(ids ...string) map[string]found {
	all := map[string]found{}
	var rest []string // looked up among the recent items in one pass
	for _, id := range ids {
		if f, ok := p.lookUp(id); ok {
			all[id] = f
		} else {
			rest = append(rest, id)
		}
	}
	if len(rest) > 0 && p.options.Recent != nil {
		for id, it := range p.options.Recent.Find(rest...) {
			e := record.Example{
				ID: it.Name, Label: it.Label, Model: it.Model, Vector: it.Vector, Attributes: it.Attributes,
			}
			if it.Vector != nil {
				all[id] = found{Example: e, seen: it.Stream}
			}
		}
	}
	for id, f := range all {
		if len(f.Attributes) > longestAttributes {
			f.Attributes = nil
			all[id] = f
		}
	}
	return all
}

// lookUp finds what is not a recent item.
func (p *Page) lookUp(id string) (found, bool) {
	if e, ok := p.stage.Example(id); ok {
		return found{Example: e, seen: e.Stream}, true
	}
	if q, ok := p.questions.find(id); ok {
		e := record.Example{
			ID: id, Label: q.Guess.Label, Model: q.Model, Vector: q.Vector,
			Attributes: q.Attributes,
		}
		return found{e, q.Stream, first(q.Guess.Alternatives)}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.shown.find(id); of != nil {
		r := &of.Result
		e := record.Example{
			ID: of.Example, Label: r.Label, Model: r.Model, Vector: of.Vector, Attributes: r.Attributes,
		}
		return found{e, r.Stream, first(r.Alternatives)}, true
	}
	for _, e := range slices.Backward(p.takenBack) {
		if e.ID == id {
			return found{Example: e, seen: e.Stream}, true
		}
	}
	for _, n := range p.stage.Rejections() {
		if n.ID == id {
			e := record.Example{ID: id, Stream: n.Stream, Model: n.Model, Vector: n.Vector}
			return found{Example: e, seen: n.Stream}, true
		}
	}
	return found{}, false
}

// keepTakenBack keeps the example in force under id, if there is one, before it is deleted or replaced.
func (p *Page) keepTakenBack(id string) {
	if e, ok := p.stage.Example(id); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.takenBack = append(p.takenBack, e)
		p.takenBack = p.takenBack[max(0, len(p.takenBack)-mostExamples):]
	}
}

// without returns the alternatives that have none of these labels.
func without(list []record.Alternative, labels map[string]bool) []record.Alternative {
	return slices.DeleteFunc(slices.Clone(list), func(a record.Alternative) bool { return labels[a.Label] })
}

// first returns the label of the likeliest alternative; "": there is none.
func first(list []record.Alternative) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Label
}
