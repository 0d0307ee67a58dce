package web

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
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
	f, err := p.find(body.ID)
	if err != nil {
		return nil, err
	}
	p.naming.Lock()
	known := body.Label == f.Label || p.knows(body.Label, p.names())
	p.naming.Unlock()
	if !known {
		return nil, nobodyIs(body.Label)
	}
	p.rejecting.Lock()
	defer p.rejecting.Unlock()
	n := record.NotThis{
		ID: f.ID, ItemID: f.ItemID, Not: append(p.rejected(f.ID), body.Label), Vector: f.Vector, Model: f.Model, Stream: f.seenIn,
		By: p.user(r), At: time.Now(),
	}
	slices.Sort(n.Not)
	n.Not = slices.Compact(n.Not)
	if p.options.Recent != nil {
		if kept := p.options.Recent.Find(n.ID)[n.ID]; kept.Stream == n.Stream {
			n.Track = kept.Track
		}
	}
	p.keepTakenBack(n.ID)
	if err := p.say(r, record.Not(p.options.LabelsTopic, &n)); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.rejections = append(p.rejections, n)
	p.mu.Unlock()
	p.questions.rejected(n.ID)
	return nil, nil
}

// rejected returns the classes that an item is not of: as the stage has read, or as this page wrote lately.
func (p *Page) rejected(id string) (not []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rejections = slices.DeleteFunc(p.rejections, func(n record.NotThis) bool {
		return time.Since(n.At) > saidFor
	})
	for _, n := range slices.Concat(p.stage.Rejections(), p.rejections) {
		if n.ID == id {
			not = append(not, n.Not...)
		}
	}
	return not
}

// nameView is a name in force, as the API shows it.
type nameView struct {
	record.Name
	Into string `json:"into,omitempty"` // empty: the name is forgotten
}

// apiNames lists the labels that a person can choose from, the names in force, the classes, and the identities.
func (p *Page) apiNames(*http.Request) (any, error) {
	p.naming.Lock()
	defer p.naming.Unlock()
	names := []nameView{}
	for _, n := range p.names() {
		n.Called = nil
		names = append(names, nameView{n, n.Into})
	}
	return map[string]any{"labels": p.labels(), "names": names, "classes": p.classes(), "identities": p.identities().all}, nil
}

// named is the body of requests about a name.
type named struct {
	Name   string `json:"name"`
	Into   string `json:"into"`
	Stream string `json:"stream"`
}

// apiName renames a class or a cluster, or merges it into another.
func (p *Page) apiName(r *http.Request, body *named) (any, error) {
	if err := cmp.Or(labelled("name", &body.Name), newly("into", &body.Into)); err != nil {
		return nil, err
	}
	if body.Name == body.Into {
		return nil, wrong("name and into are the same")
	}
	p.naming.Lock()
	defer p.naming.Unlock()
	names := p.names()
	if !p.knows(body.Name, names) {
		return nil, nobodyIs(body.Name)
	}
	n := record.Name{Name: body.Name, Into: body.Into, Stream: body.Stream, By: p.user(r), At: time.Now()}
	for _, x := range names {
		if key := record.NameKey(n.Name, n.Stream); record.NameKey(x.Name, x.Stream) == key && !sameKey(x, n) {
			return nil, wrong("the name of %q in stream %q has the same key, %q: take that back first",
				x.Name, x.Stream, key)
		}
	}
	_, before := taught.NewNames(renaming(names))
	_, faults := taught.NewNames(renaming(append(names, n)))
	for i, fault := range faults { // of the new name, or of another that it puts out of force
		if fault != nil && (i == len(before) || before[i] == nil) {
			return nil, wrong("%v", fault)
		}
	}
	if err := p.say(r, record.NameRecord(p.options.LabelsTopic, &n)); err != nil {
		return nil, err
	}
	p.wrote(n)
	return nil, nil
}

// apiUnname deletes a name.
func (p *Page) apiUnname(r *http.Request, body *named) (any, error) {
	if err := labelled("name", &body.Name); err != nil {
		return nil, err
	}
	p.naming.Lock()
	defer p.naming.Unlock()
	n, hint := record.Name{Name: body.Name, Stream: body.Stream, At: time.Now()}, ""
	i := slices.IndexFunc(p.names(), func(x record.Name) bool {
		if x.Name == n.Name && x.Into != "" && x.Stream != n.Stream {
			hint = fmt.Sprintf("; one was given with stream %q", x.Stream)
		}
		return x.Into != "" && sameKey(x, n)
	})
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "no name of %q can be taken back%s", n.Name, hint)
	}
	if err := p.say(r, record.Forget(p.options.LabelsTopic, record.NameKey(n.Name, n.Stream))); err != nil {
		return nil, err
	}
	p.wrote(n)
	return nil, nil
}

// renaming returns the names that rename something.
func renaming(names []record.Name) (list []taught.Name) {
	for _, n := range names {
		if n.Into != "" {
			list = append(list, taught.Name{Name: n.Name, Into: n.Into, Stream: n.Stream})
		}
	}
	return list
}

// saidFor is how long the page goes by what it wrote about names if the stage does not read it.
const saidFor = time.Minute

// names returns the names that the stage has read, changed by those given and taken back on this page that it
// has not read yet, so that requests in quick succession see each other. It needs p.naming.
func (p *Page) names() []record.Name {
	names := p.stage.Names()
	p.said = slices.DeleteFunc(p.said, func(n record.Name) bool {
		i := slices.IndexFunc(names, func(x record.Name) bool { return sameKey(x, n) })
		read := i >= 0 && !names[i].At.Before(n.At) || i < 0 && n.Into == ""
		return read || time.Since(n.At) > saidFor
	})
	for _, n := range p.said {
		names = slices.DeleteFunc(slices.Clone(names), func(x record.Name) bool { return sameKey(x, n) })
		if n.Into != "" {
			names = append(names, n)
		}
	}
	return names
}

// wrote notes a name that was given or taken back on this page. It needs p.naming.
func (p *Page) wrote(n record.Name) {
	p.said = append(slices.DeleteFunc(p.said, func(x record.Name) bool { return sameKey(x, n) }), n)
}

// sameKey says whether a later one of two names replaces the other.
func sameKey(a, b record.Name) bool { return a.Name == b.Name && a.Stream == b.Stream }

func nobodyIs(name string) error {
	return refuse(http.StatusNotFound, "nothing is called %q here: no example, no name and no recent answer of "+
		"this process; another one may know it", name)
}

// knows says whether a name can be the name of something: of a class that was taught, rejected or answered,
// or of a name given to one. Any cluster can be: each process knows only those of its own streams.
func (p *Page) knows(name string, names []record.Name) bool {
	number, isCluster := strings.CutPrefix(name, "cluster-")
	if _, err := strconv.ParseUint(number, 10, 64); isCluster && err == nil {
		return true
	}
	examples, rejections := p.stage.Counts()
	counts, taught := p.questions.used()
	found := examples[name]+rejections[name] > 0 || counts[name] > 0 || slices.Contains(taught, name)
	for _, n := range names {
		found = found || n.Into == name || n.Name == name && n.Into != ""
	}
	if p.options.Recent != nil {
		p.options.Recent.Each(func(it *recent.Item) { found = found || it.Label == name && !it.Unknown })
	}
	return found
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
			for _, of := range n.Called {
				known.called[of.Class] = true
			}
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
	p.where.forget(labels)
	p.strangers.drop()
	p.linked.drop()
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
	p.nameGroups(r.Context(), body.IDs)
	p.strangers.drop()
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

// newly is labelled for a label that is given. It has no control characters: some databases do not take them.
func newly(what string, label *string) error {
	if err := labelled(what, label); err != nil {
		return err
	}
	if strings.ContainsFunc(*label, unicode.IsControl) {
		return wrong("%s has a control character: %q", what, *label)
	}
	return nil
}

// say writes records to the labels topic. It refuses what no stage would take: that would have no effect, and no one would notice.
func (p *Page) say(r *http.Request, records ...record.Out) error {
	for i := range records {
		if err := record.CheckLabel(r.Context(), &records[i]); err != nil {
			return wrong("%v", err)
		}
	}
	if err := p.options.Say(r.Context(), records); err != nil {
		return p.failed(http.StatusBadGateway, "the labels topic did not take it", err, "path", r.URL.Path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rejections = slices.DeleteFunc(p.rejections, func(n record.NotThis) bool { // replaced
		return slices.ContainsFunc(records, func(r record.Out) bool { return string(r.Key) == n.ID })
	})
	return nil
}
