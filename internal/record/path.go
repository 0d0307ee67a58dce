package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Paths locate a record's fields in a sender's own JSON. A path is names joined by dots, a\.b for a name with
// a dot, and [] after the name of a list whose elements are items: data.items[].embedding. Fields in the same
// list element as the vector belong to that item; fields outside the list hold for all items. Attributes is
// the path of a value of any type, which may contain the other fields, but not the vector. A field without a path has
// its usual name at the top of the record, and one whose path is Nowhere is not read. Without any path, a record has one
// of the usual forms.
type Paths struct {
	Vector, ID, Time, Label, Stream, Frame, Track, Attributes string
}

// Nowhere is the path of a field that is not read, whatever the record has.
const Nowhere = "-"

// named is a path with the name of its field.
type named struct{ name, path string }

// texts lists the paths but the vector's; attributes is last, because it may contain the others.
func (p *Paths) texts() []named {
	return []named{
		{"id", p.ID},
		{"time", p.Time},
		{"label", p.Label},
		{"stream", p.Stream},
		{"frame", p.Frame},
		{"track", p.Track},
		{"attributes", p.Attributes},
	}
}

// usual are the names of fields that have no path, at the top of a record.
var usual = []named{
	{"id", "id"},
	{"time", "time"},
	{"time", "timestamp"},
	{"label", "label"},
	{"stream", "stream"},
	{"stream", "sensorId"},
	{"frame", "frame"},
	{"track", "track"},
	{"model", "model"},
	{"attributes", "attributes"},
}

// each is the step of a path into every element of a list.
const each = "[]"

// pathEscapes are what stands for a dot in a name, and for a backslash. A zero byte stands for that dot.
var pathEscapes = strings.NewReplacer(`\.`, "\x00", `\\`, `\`)

// parsePath splits a path into names and steps into lists.
func parsePath(path string) (steps []string, err error) {
	for i, name := range strings.Split(pathEscapes.Replace(path), ".") {
		lists := 0
		for ; strings.HasSuffix(name, each); lists++ {
			name = strings.TrimSuffix(name, each)
		}
		if name == "" && (lists == 0 || i > 0) || strings.Contains(name, each) {
			return nil, fmt.Errorf("%q is no path such as data.items[].embedding", path)
		}
		if name != "" {
			steps = append(steps, strings.ReplaceAll(name, "\x00", "."))
		}
		steps = append(steps, slices.Repeat([]string{each}, lists)...)
	}
	return steps, nil
}

// walk returns the node at the end of the names.
func (p *node) walk(names []string) *node {
	for _, name := range names {
		if p.below == nil {
			p.below = map[string]*node{}
		}
		if p.below[name] == nil {
			p.below[name] = &node{field: nowhere}
		}
		p = p.below[name]
	}
	return p
}

// scopes compiles the paths: the node of the record outside of lists, and one for the elements of each list
// on the vector's path; nil if there are no paths.
func (p *Paths) scopes() (scopes []*node, err error) {
	given := map[string]bool{}
	paths := slices.DeleteFunc(p.texts(), func(x named) bool {
		given[x.name] = x.path != "" && x.path != Nowhere // what is not read is dropped, but of examples
		return x.path == "" || x.path == Nowhere
	})
	if p.Vector == "" && len(paths) == 0 {
		return nil, nil
	}
	vector, err := parsePath(cmp.Or(p.Vector, "vector"))
	if err != nil {
		return nil, fmt.Errorf("vector-field: %w", err)
	}
	starts := []int{0} // index in the vector's path where each scope starts
	for i, step := range append(slices.Clip(vector), each) {
		if step == each {
			scope := &node{field: nowhere}
			scope.walk(vector[starts[len(starts)-1]:i]).field = objectsField
			scopes, starts = append(scopes, scope), append(starts, i+1)
		}
	}
	last := len(scopes) - 1
	scopes[last].walk(vector[starts[last]:]).field = vectorField
	for _, x := range paths {
		steps, err := parsePath(x.path)
		if err != nil {
			return nil, fmt.Errorf("%s-field: %w", x.name, err)
		}
		scope := last
		for !begins(vector[:starts[scope]], steps) {
			scope--
		}
		rest := steps[starts[scope]:]
		if slices.Contains(rest, each) {
			return nil, fmt.Errorf("%s-field %q: its list is not one that vector-field %q goes through",
				x.name, x.path, p.Vector)
		}
		at, field := scopes[scope].walk(rest), members[x.name].field
		switch {
		case field == attributesField && begins(steps, vector):
			return nil, fmt.Errorf(
				"%s-field %q: the vector is in it, and would be in every result: name a part beside the vector, or leave %[1]s out",
				x.name,
				x.path,
			)
		case at.field != nowhere, len(at.below) > 0 && field != attributesField:
			return nil, fmt.Errorf("%s-field %q: another field is in the same position", x.name, x.path)
		}
		at.name, at.field = x.name+"-field", field
	}
	for _, x := range usual {
		perItem := x.name == "id" || x.name == "track" // outside of a list they say nothing about its items
		if scopes[0].below[x.path] == nil && !given[x.name] && (last == 0 || !perItem) {
			at := scopes[0].walk([]string{x.path})
			at.name, at.field = x.name+"-field", members[x.path].field
		}
	}
	return scopes, nil
}

// begins says whether whole begins with the steps of part.
func begins(part, whole []string) bool {
	return len(part) <= len(whole) && slices.Equal(part, whole[:len(part)])
}

// walk reads the value at the cursor, which is at p, and what is known below.
func (f *fields) walk(s *scanner, p *node) bool {
	if from := s.i; p.field != nowhere {
		if !f.take(s, p) || p.field != attributesField || p.below == nil {
			return s.bad == nil
		}
		s.i = from
	}
	if s.next() != '{' {
		return s.pass(0)
	}
	return s.object(func(name []byte) bool {
		if next := p.below[string(name)]; next != nil {
			return f.walk(s, next)
		}
		return s.pass(0)
	})
}

// mapped decodes JSON by the paths. The bool says whether a value was at the vector's path.
func (d *Decoder) mapped(value []byte) (bool, *Rejection) {
	w := mappedWalk{frame: frame{d: d}}
	s := scanner{b: value}
	if !w.scope(&s, d.scopes, fields{mapped: true}) || !s.end() {
		return true, d.none(s.bad)
	}
	if !w.reached {
		return false, nil
	}
	return true, w.end()
}

// mappedWalk is one pass over a value.
type mappedWalk struct {
	frame
	reached bool // a value is at the vector's path, or at that of its list
	// attributes that several items share, as they are in the record and copied once
	shared []byte
	copied json.RawMessage
	given  int // bytes of attributes of all items
}

// scope reads the value at the cursor: the record, or an element of a list. scopes has the nodes in it, and
// in the lists within; f the fields found outside of it.
func (w *mappedWalk) scope(s *scanner, scopes []*node, f fields) bool {
	f.vector, f.values[objectsField] = w.d.scratch[:0], nil
	if s.space(); !f.walk(s, scopes[0]) {
		return false
	}
	w.d.scratch = f.vector[:0]
	list := f.values[objectsField]
	w.reached = w.reached || list != nil || f.hasVector
	if len(scopes) > 1 {
		inside := scanner{b: list}
		switch {
		case list == nil:
			return true
		case list[0] != '[':
			found, _ := (&scanner{b: list}).found()
			s.bad = reject(Unreadable, "vector-field %s: %s where [] reads a list", w.d.options.Paths.Vector, found)
			return false
		}
		ok := inside.array(func(int) bool { return w.scope(&inside, scopes[1:], f) })
		s.bad = inside.bad
		return ok
	}
	bad, object := f.bad, int32(w.count)
	one := len(w.d.scopes) == 1 // the record is the embedding
	w.given += len(f.values[attributesField])
	if one {
		object = -1
	} else if s.refuse(cmp.Or(checkObjects(w.count+1), checkAttributes(w.given))) {
		return false
	}
	switch {
	case bad != nil:
	case f.hasVector:
		bad = w.item(&f, object)
	case !one:
		bad = w.d.noVector()
	}
	if one {
		return !s.refuse(bad)
	}
	w.next(bad)
	return true
}

// item appends the item with the fields in f.
func (w *mappedWalk) item(f *fields, object int32) (bad *Rejection) {
	e := w.d.envelope
	if text := f.values[timeField]; len(text) > 0 && w.d.options.Paths.Time != Nowhere {
		if f.time, bad = parseTime(text); bad != nil {
			return bad.within("time-field")
		}
	}
	f.stream = f.values[streamField]
	e.over(f)
	e.bytes = f.bytes
	if a := f.values[attributesField]; len(a) != len(w.shared) || len(a) > 0 && &a[0] != &w.shared[0] {
		w.shared, w.copied = a, text(a)
	}
	return w.d.append(&e, f.vector, object, w.copied)
}

// noVector is the fault of a record, or of an element of a list, that has nothing where the vector should be.
func (d *Decoder) noVector() *Rejection {
	return &Rejection{Unreadable, "nothing at vector-field " + cmp.Or(d.options.Paths.Vector, "vector"), true}
}

// drop takes away what the paths say is not to be read: of the input, not of examples.
func (d *Decoder) drop(e *envelope) {
	if d.examples {
		return
	}
	for _, name := range d.nowhere {
		switch name {
		case "time":
			e.time = time.Time{}
		case "stream":
			e.stream = nil
			fallthrough
		case "id", "label", "frame", "track":
			e.texts[members[name].field] = nil
		}
	}
}

// Unread returns the top members of a JSON object in which no field is looked for.
func (d *Decoder) Unread(object []byte) (names []string) {
	known := members
	if d.scopes != nil {
		known = d.scopes[0].below
	}
	Members(object, func(name string, _ []byte) {
		if known[name] == nil && name != d.field {
			names = append(names, name)
		}
	})
	return names
}
