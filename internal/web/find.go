package web

import (
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// found is an example, or an item that would be one.
type found struct {
	record.Example        // its label, or what it was answered; the stream that it is for, "" for all
	seen           string // the stream of the item; that of the example where it is one
	other          string // what else it might have been; "": not known
}

// find looks an id up, that of an item, a result, an example or a rejection: among the examples in force,
// what people are asked about, what was shown, what was taken back on this page, the rejections, and the
// recent items, of which the vector is the one that the code stands for. It is false where the item is no
// longer at hand.
func (p *Page) find(id string) (found, bool) {
	f, ok := p.lookUp(id)
	if len(f.Attributes) > longestAttributes {
		f.Attributes = nil
	}
	return f, ok
}

func (p *Page) lookUp(id string) (found, bool) {
	if p.options.Example != nil {
		if e, ok := p.options.Example(id); ok {
			return found{Example: e, seen: e.Stream}, true
		}
	}
	if q, ok := p.options.Questions.find(id); ok {
		e := record.Example{
			ID: id, Label: q.Guess.Label, Model: q.Model, Vector: q.Vector,
			Attributes: q.Attributes,
		}
		return found{e, q.Stream, first(q.Guess.Alternatives)}, true
	}
	if f, ok := p.shownOrTakenBack(id); ok {
		return f, true
	}
	for _, n := range p.rejections() {
		if n.ID == id {
			return found{
				Example: record.Example{ID: id, Stream: n.Stream, Model: n.Model, Vector: n.Vector}, seen: n.Stream,
			}, true
		}
	}
	if p.options.Recent != nil {
		if it, vector, ok := p.options.Recent.Find(id); ok {
			e := record.Example{
				ID: it.Name, Label: it.Label, Model: it.Model, Vector: vector,
				Attributes: it.Attributes,
			}
			return found{Example: e, seen: it.Stream}, true
		}
	}
	return found{}, false
}

func (p *Page) shownOrTakenBack(id string) (found, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	item := p.shown.items[id]
	for _, other := range p.shown.items {
		if item == nil && other.Example == id {
			item = other
		}
	}
	if item != nil {
		r := &item.Result
		e := record.Example{
			ID: item.Example, Label: r.Label, Model: r.Model, Vector: item.Vector,
			Attributes: r.Attributes,
		}
		return found{e, r.Stream, first(r.Alternatives)}, true
	}
	for _, e := range slices.Backward(p.takenBack) {
		if e.ID == id {
			return found{Example: e, seen: e.Stream}, true
		}
	}
	return found{}, false
}

// keepTakenBack keeps the example in force of an id, if there is one, which is about to be taken back.
func (p *Page) keepTakenBack(id string) {
	if p.options.Example == nil {
		return
	}
	if e, ok := p.options.Example(id); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.takenBack = append(p.takenBack, e)
		p.takenBack = p.takenBack[max(0, len(p.takenBack)-mostExamples):]
	}
}

// first is the likeliest alternative; "": there is none.
func first(list []record.Alternative) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Label
}
