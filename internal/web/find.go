package web

import (
	"net/http"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// found is an example, or an item that could become one.
type found struct {
	record.Example        // with its label or answer; Stream "": for all streams
	seenIn         string // stream of the item, or of the example
	runnerUp       string // label of the runner-up; "": not known
}

// find looks up an item, example or rejection, by its key, the id of its result, or an id that its sender gave
// to no other: among the examples in force, the items that people are asked about, those that were shown,
// examples deleted or rejected on this page, the rejections, and the recent items, whose vectors are
// approximate.
func (p *Page) find(id string) (found, error) {
	if id == "" {
		return found{}, wrong("id is needed: that of the item")
	}
	all, err := p.findAll(id)
	if err != nil {
		return found{}, err
	}
	f, ok := all[id]
	if !ok {
		return found{}, refuse(
			http.StatusNotFound,
			"that item is not among the recent ones of this process (to teach it, send its vector with it)",
		)
	}
	return f, nil
}

// findAll is find for many ids, those that are known.
func (p *Page) findAll(ids ...string) (map[string]found, error) {
	all := map[string]found{}
	var rest []string // looked up among the recent items in one pass
	for _, id := range ids {
		if f, ok := p.lookUp(id); ok {
			all[id] = f
		} else {
			rest = append(rest, id)
		}
	}
	recent, err := p.findRecent(rest...)
	if err != nil {
		return nil, err
	}
	for id, it := range recent {
		if f, ok := p.lookUp(it.Name); ok { // found by the sender's id
			all[id] = f
			continue
		}
		e := record.Example{
			ID: it.Name, ItemID: it.ItemID, Label: it.Label, Model: it.Model, Vector: it.Vector, Attributes: it.Attributes,
		}
		if it.Vector != nil {
			all[id] = found{Example: e, seenIn: it.Stream}
		}
	}
	for id, f := range all {
		if len(f.Attributes) > longestAttributes {
			f.Attributes = nil
			all[id] = f
		}
	}
	return all, nil
}

// findRecent finds recent items by their results' ids, their keys, or ids that their senders gave to no other.
// What looks like a result's id or a key is never taken for a sender's.
func (p *Page) findRecent(ids ...string) (map[string]recent.Found, error) {
	store := p.options.Recent
	if store == nil || len(ids) == 0 {
		return nil, nil
	}
	all := store.Find(ids...)
	for _, id := range ids {
		_, isResult := record.ParseID(id)
		if _, known := all[id]; known || isResult || record.IsItemKey(id) {
			continue
		}
		switch called := store.Called(id, 2); len(called) {
		case 1:
			all[id] = called[0]
		case 2:
			return nil, refuse(http.StatusConflict, "several items are called %q by their senders, such as %s and %s: "+
				"use the id of the result", id, called[0].ID, called[1].ID)
		}
	}
	return all, nil
}

// keyOf returns the key of the example or the item with an id, which may be a key or a result's id.
func (p *Page) keyOf(id string) string {
	if _, isExample := p.stage.Example(id); !isExample {
		if _, isResult := record.ParseID(id); isResult {
			return record.ItemKey(id)
		}
	}
	return id
}

// lookUp finds what is not a recent item.
func (p *Page) lookUp(id string) (found, bool) {
	if e, ok := p.stage.Example(p.keyOf(id)); ok {
		return found{Example: e, seenIn: e.Stream}, true
	}
	if q, ok := p.questions.find(id); ok {
		e := record.Example{
			ID: q.ID, ItemID: q.ItemID, Label: q.Guess.Label, Model: q.Model, Vector: q.Vector,
			Attributes: q.Attributes,
		}
		return found{e, q.Stream, likeliest(q.Guess.Alternatives)}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.shown.find(id); of != nil {
		r := &of.Result
		e := record.Example{
			ID: of.Example, ItemID: r.ItemID, Label: r.Label, Model: r.Model, Vector: of.Vector, Attributes: r.Attributes,
		}
		return found{e, r.Stream, likeliest(r.Alternatives)}, true
	}
	key := p.keyOf(id)
	for _, e := range slices.Backward(p.takenBack) {
		if e.ID == key {
			return found{Example: e, seenIn: e.Stream}, true
		}
	}
	for _, n := range p.stage.Rejections() {
		if n.ID == key {
			e := record.Example{ID: key, ItemID: n.ItemID, Stream: n.Stream, Model: n.Model, Vector: n.Vector}
			return found{Example: e, seenIn: n.Stream}, true
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

// likeliest returns the label of the likeliest alternative; "": there is none.
func likeliest(list []record.Alternative) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Label
}
