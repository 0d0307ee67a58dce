package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/record"
)

// apiReject records that an item that was asked about or shown is not of a class. Items very near
// it are not either.
func (p *Page) apiReject(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	}
	if !p.reads(w, r, &body) || !labelled(w, "label", &body.Label) {
		return
	}
	f, ok := p.find(body.ID)
	if !ok {
		http.Error(w, "that item is no longer at hand", http.StatusNotFound)
		return
	}
	n := record.NotThis{
		ID: f.ID, Not: []string{body.Label}, Vector: f.Vector, Model: f.Model, Stream: f.seen, By: p.user(r),
		At: time.Now(),
	}
	if p.options.Recent != nil {
		if kept := p.options.Recent.Find(n.ID)[n.ID]; kept.Stream == n.Stream {
			n.Track = kept.Track
		}
	}
	p.keepTakenBack(n.ID)
	if p.say(w, r, func(topic string) []record.Out { return []record.Out{record.Not(topic, &n)} }) {
		p.options.Questions.rejected(n.ID)
	}
}

// nameView is a name in force, as the API shows it.
type nameView struct {
	Name   string     `json:"name"`
	Into   string     `json:"into,omitempty"` // empty: the name is forgotten
	Stream string     `json:"stream,omitempty"`
	By     string     `json:"by,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// apiNames lists the labels that a person can choose from, the names in force, and the classes.
func (p *Page) apiNames(w http.ResponseWriter, _ *http.Request) {
	names := []nameView{}
	if p.options.Names != nil {
		for _, n := range p.options.Names() {
			names = append(names, nameView{Name: n.Name, Into: n.Into, Stream: n.Stream, By: n.By, At: when(n.At)})
		}
	}
	reply(w, map[string]any{"labels": p.labels(), "names": names, "classes": p.classes()})
}

// apiName renames a class or a cluster, or merges it into another.
func (p *Page) apiName(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name   string `json:"name"`
		Into   string `json:"into"`
		Stream string `json:"stream"`
	}
	if !p.reads(w, r, &body) || !labelled(w, "name", &body.Name) || !labelled(w, "into", &body.Into) {
		return
	}
	if body.Name == body.Into {
		http.Error(w, "name and into are the same", http.StatusBadRequest)
		return
	}
	n := record.Name{Name: body.Name, Into: body.Into, Stream: body.Stream, By: p.user(r), At: time.Now()}
	p.say(w, r, func(topic string) []record.Out { return []record.Out{record.NameRecord(topic, &n)} })
}

// apiUnname deletes a name.
func (p *Page) apiUnname(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name   string `json:"name"`
		Stream string `json:"stream"`
	}
	if !p.reads(w, r, &body) || !labelled(w, "name", &body.Name) {
		return
	}
	key := record.NameKey(body.Name, body.Stream)
	p.say(w, r, func(topic string) []record.Out { return []record.Out{record.Forget(topic, key)} })
}

// apiForgetName forgets a name and everything that is called by it, and replies with a receipt.
func (p *Page) apiForgetName(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string `json:"name"`
	}
	if !p.reads(w, r, &body) || !labelled(w, "name", &body.Name) {
		return
	}
	n := record.Name{Name: body.Name, By: p.user(r), At: time.Now()}
	called := p.calledBy(body.Name) // read before the names are deleted
	receipt, err := p.options.ForgetName(r.Context(), n)
	switch {
	case errors.Is(err, record.ErrNoName):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		p.options.Log.Error("a name was not forgotten in full", "name", body.Name, "error", err)
		http.Error(w, "the name was not forgotten in full: send it again; the log says why", http.StatusBadGateway)
	default:
		p.forget(called)
		reply(w, map[string]any{"receipt": receipt})
	}
}

// calledBy returns the name and every class or cluster that people gave it to, directly
// or through other names.
func (p *Page) calledBy(name string) map[string]bool {
	called := map[string]bool{name: true}
	if p.options.Names == nil {
		return called
	}
	names := p.options.Names()
	for grew := true; grew; {
		grew = false
		for _, n := range names {
			if called[n.Into] && !called[n.Name] {
				called[n.Name], grew = true, true
			}
		}
	}
	return called
}

// forget drops what the page keeps of items and examples with these labels: items shown, items that people
// are asked about, what they taught, and deleted examples.
func (p *Page) forget(labels map[string]bool) {
	p.options.Questions.forget(labels)
	p.first.forget(labels)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.forget(labels)
	p.last, p.unseen = nil, nil // the next episode replaces them
	p.takenBack = slices.DeleteFunc(p.takenBack, func(e record.Example) bool { return labels[e.Label] })
}

// mostSplit is the maximum number of examples that one request may teach.
const mostSplit = 1000

// apiSplit teaches examples, or items that were asked about or shown, under another label: all or none.
func (p *Page) apiSplit(w http.ResponseWriter, r *http.Request) {
	examples, ok := p.lessons(w, r)
	if !ok {
		return
	}
	said := p.say(w, r, func(topic string) (out []record.Out) {
		for i := range examples {
			out = append(out, record.Teach(topic, &examples[i]))
		}
		return out
	})
	for i := 0; said && i < len(examples); i++ {
		p.options.Questions.labelled(examples[i].ID, examples[i].Label, "")
	}
}

// reads is read for requests that write to the labels topic.
func (p *Page) reads(w http.ResponseWriter, r *http.Request, into any) bool {
	if p.options.Say == nil {
		http.Error(w, "no labels topic: start the stage with --labels TOPIC to teach", http.StatusConflict)
		return false
	}
	return read(w, r, into)
}

// labelled trims a label and says whether it is valid. If it returns false, it has answered the request.
func labelled(w http.ResponseWriter, what string, label *string) bool {
	*label = strings.TrimSpace(*label)
	if *label == "" || utf8.RuneCountInString(*label) > longestLabel {
		http.Error(w, fmt.Sprintf("%s has 1 to %d letters", what, longestLabel), http.StatusBadRequest)
		return false
	}
	return true
}

// say writes records to the labels topic, answers the request, and returns whether the write succeeded.
func (p *Page) say(w http.ResponseWriter, r *http.Request, out func(topic string) []record.Out) bool {
	if err := p.options.Say(r.Context(), out); err != nil {
		p.options.Log.Error("the labels topic did not take what was said", "path", r.URL.Path, "error", err)
		http.Error(w, "the labels topic did not take it; the log says why", http.StatusBadGateway)
		return false
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
