package web

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// apiReject records that an item that was asked about or shown is not of a class. Items very near
// it are not either.
func (p *Page) apiReject(r *http.Request, body *struct {
	ID    string `json:"id"`
	Label string `json:"label"`
},
) (any, error) {
	if err := labelled("label", &body.Label); err != nil {
		return nil, err
	}
	f, err := p.findAsked(body.ID)
	if err != nil {
		return nil, err
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
	if err := p.say(r, record.Not(p.options.LabelsTopic, &n)); err != nil {
		return nil, err
	}
	p.questions.rejected(n.ID)
	return nil, nil
}

// nameView is a name in force, as the API shows it.
type nameView struct {
	record.Name
	Into string `json:"into,omitempty"` // empty: the name is forgotten
}

// apiNames lists the labels that a person can choose from, the names in force, and the classes.
func (p *Page) apiNames(*http.Request) (any, error) {
	names := []nameView{}
	for _, n := range p.stage.Names() {
		names = append(names, nameView{n, n.Into})
	}
	return map[string]any{"labels": p.labels(), "names": names, "classes": p.classes()}, nil
}

// named is the body of requests about a name.
type named struct {
	Name   string `json:"name"`
	Into   string `json:"into"`
	Stream string `json:"stream"`
}

// apiName renames a class or a cluster, or merges it into another.
func (p *Page) apiName(r *http.Request, body *named) (any, error) {
	if err := cmp.Or(labelled("name", &body.Name), labelled("into", &body.Into)); err != nil {
		return nil, err
	}
	if body.Name == body.Into {
		return nil, wrong("name and into are the same")
	}
	n := record.Name{Name: body.Name, Into: body.Into, Stream: body.Stream, By: p.user(r), At: time.Now()}
	var names []stream.Name
	for _, one := range append(p.stage.Names(), n) {
		if one.Into != "" {
			names = append(names, stream.Name{Name: one.Name, Into: one.Into, Stream: one.Stream})
		}
	}
	if _, faults := stream.NewNames(names); faults[len(faults)-1] != nil {
		return nil, wrong("%v", faults[len(faults)-1])
	}
	return nil, p.say(r, record.NameRecord(p.options.LabelsTopic, &n))
}

// apiUnname deletes a name.
func (p *Page) apiUnname(r *http.Request, body *named) (any, error) {
	if err := labelled("name", &body.Name); err != nil {
		return nil, err
	}
	return nil, p.say(r, record.Forget(p.options.LabelsTopic, record.NameKey(body.Name, body.Stream)))
}

// apiForgetName forgets a name and everything that is called by it, and replies with a receipt.
func (p *Page) apiForgetName(r *http.Request, body *named) (any, error) {
	if err := labelled("name", &body.Name); err != nil {
		return nil, err
	}
	n := record.Name{Name: body.Name, By: p.user(r), At: time.Now()}
	called := calledBy(body.Name, p.stage.Names()) // read before the names are deleted
	receipt, err := p.options.ForgetName(r.Context(), n)
	switch {
	case errors.Is(err, record.ErrNoName):
		return nil, refuse(http.StatusNotFound, "%v", err)
	case err != nil:
		return nil, p.failed(http.StatusBadGateway, "the name was not forgotten in full: send it again", err,
			"name", body.Name)
	}
	p.forget(called)
	return map[string]any{"receipt": receipt}, nil
}

// forgetting is what the page knows of names that were forgotten.
type forgetting struct {
	names []record.Name          // a second ago
	by    map[string]*forgotName // by name
}

// forgotName is a name that was forgotten.
type forgotName struct {
	at     time.Time       // when it was forgotten, by its record
	called map[string]bool // the labels that the page forgets
	until  time.Time       // how long it forgets them
}

// forgetElsewhere drops from the page what was forgotten by a command, or on the page of another process. An
// episode that was being answered reaches the page later, so that each name is dropped for a few seconds.
// The first call only notes the names that were forgotten earlier: the page is new and has nothing of them.
func (p *Page) forgetElsewhere(now time.Time) {
	const long = 5 * time.Second
	f, names := &p.forgetting, p.stage.Names()
	isFirst := f.by == nil
	if isFirst {
		f.by = map[string]*forgotName{}
	}
	forgotten := map[string]bool{}
	for _, n := range names {
		if n.Into != "" {
			continue
		}
		known := f.by[n.Name]
		if known == nil || !known.at.Equal(n.At) {
			known = &forgotName{at: n.At, called: calledBy(n.Name, slices.Concat(f.names, names))}
			if !isFirst {
				known.until = now.Add(long)
			}
			f.by[n.Name] = known
		}
		if now.Before(known.until) {
			maps.Copy(forgotten, known.called)
		}
	}
	f.names = names
	if len(forgotten) > 0 {
		p.forget(forgotten)
	}
}

// calledBy returns the name and every class or cluster that people gave it to, directly
// or through other names.
func calledBy(name string, names []record.Name) map[string]bool {
	called := map[string]bool{name: true}
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
	p.questions.forget(labels)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.forget(labels)
	p.latest = nil // the next episode replaces it
	p.takenBack = slices.DeleteFunc(p.takenBack, func(e record.Example) bool { return labels[e.Label] })
}

// apiSplit teaches examples, or items that were asked about or shown, under another label: all or none.
func (p *Page) apiSplit(r *http.Request, body *lessons) (any, error) {
	examples, err := p.examples(r, body)
	if err != nil {
		return nil, err
	}
	var out []record.Out
	for i := range examples {
		out = append(out, record.Teach(p.options.LabelsTopic, &examples[i]))
	}
	if err := p.say(r, out...); err != nil {
		return nil, err
	}
	for i := range examples {
		p.questions.labelled(examples[i].ID, examples[i].Label, "")
	}
	return nil, nil
}

// labelled trims a label and refuses one that is empty or too long.
func labelled(what string, label *string) error {
	*label = strings.TrimSpace(*label)
	if *label == "" || utf8.RuneCountInString(*label) > longestLabel {
		return wrong("%s is needed, of 1 to %d letters", what, longestLabel)
	}
	return nil
}

// say writes records to the labels topic.
func (p *Page) say(r *http.Request, records ...record.Out) error {
	if err := p.options.Say(r.Context(), records); err != nil {
		return p.failed(http.StatusBadGateway, "the labels topic did not take it", err, "path", r.URL.Path)
	}
	return nil
}
