package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Paths locate a record's fields in a sender's own JSON. A path is names joined by dots, a\.b for a name with
// a dot, and [] after the name of a list whose elements are items: data.items[].embedding. Fields in the same
// list element as the vector belong to that item; fields outside the list hold for all items. Attributes is
// the path of a value of any type, which may contain the other fields, but not the vector. If Vector is "",
// all must be "": paths are not used.
type Paths struct {
	Vector, ID, Time, Label, Stream, Frame, Track, Attributes string
}

// each is the step of a path into every element of a list.
const each = "[]"

// parsePath splits a path into names and steps into lists.
func parsePath(path string) ([]string, error) {
	var steps []string
	name, rest := "", path
	for {
		i := strings.IndexAny(rest, `.\`)
		switch {
		case i >= 0 && rest[i] == '\\' && i+1 < len(rest):
			name += rest[:i] + rest[i+1:i+2]
			rest = rest[i+2:]
			continue
		case i >= 0:
			name += rest[:i]
			rest = rest[i+1:]
		default:
			name += rest
		}
		lists := 0
		for strings.HasSuffix(name, each) {
			name = strings.TrimSuffix(name, each)
			lists++
		}
		if name == "" && (lists == 0 || len(steps) > 0) || strings.Contains(name, each) {
			return nil, fmt.Errorf("%q is no path such as data.items[].embedding", path)
		}
		if name != "" {
			steps = append(steps, name)
		}
		for range lists {
			steps = append(steps, each)
		}
		if i < 0 {
			return steps, nil
		}
		name = ""
	}
}

// Fields that a path may locate, besides the vector and texts.
const (
	timePath       = "time"
	attributesPath = "attributes" // may contain the other fields
)

// mapping is compiled Paths: a tree of names for the record outside of lists, and one for the elements of
// each list on the vector's path.
type mapping struct {
	scopes []*branch
	path   string // of the vector
}

// branch is a node of such a tree: a position in the JSON that is on a path.
type branch struct {
	children map[string]*branch
	field    string // the field at this position; "": none
	inward   bool   // the vector, or the list that contains it, is at this position
}

func (b *branch) walk(names []string) *branch {
	for _, name := range names {
		if b.children == nil {
			b.children = map[string]*branch{}
		}
		if b.children[name] == nil {
			b.children[name] = &branch{}
		}
		b = b.children[name]
	}
	return b
}

// holdsVector says whether the vector, or the list that contains it, is at b or below.
func (b *branch) holdsVector() bool {
	for _, child := range b.children {
		if child.holdsVector() {
			return true
		}
	}
	return b.inward
}

// mapping compiles the paths; nil if there are none.
func (p *Paths) mapping() (*mapping, error) {
	paths := []struct{ field, path string }{
		{"id", p.ID},
		{timePath, p.Time},
		{"label", p.Label},
		{"stream", p.Stream},
		{"frame", p.Frame},
		{"track", p.Track},
		{attributesPath, p.Attributes}, // last, because it may contain the others
	}
	if p.Vector == "" {
		for _, x := range paths {
			if x.path != "" {
				return nil, fmt.Errorf("%s-field %q: needs vector-field", x.field, x.path)
			}
		}
		return nil, nil
	}
	vector, err := parsePath(p.Vector)
	if err != nil {
		return nil, fmt.Errorf("vector-field: %w", err)
	}
	m := &mapping{path: p.Vector}
	starts := []int{0} // index in the vector's path where each scope starts
	for i, step := range vector {
		if step == each {
			starts = append(starts, i+1)
		}
	}
	for i, start := range starts {
		end := len(vector)
		if i+1 < len(starts) {
			end = starts[i+1] - 1
		}
		scope := &branch{}
		scope.walk(vector[start:end]).inward = true
		m.scopes = append(m.scopes, scope)
	}
	for _, x := range paths {
		if x.path == "" {
			continue
		}
		steps, err := parsePath(x.path)
		if err != nil {
			return nil, fmt.Errorf("%s-field: %w", x.field, err)
		}
		scope := 0
		for scope+1 < len(starts) && len(steps) >= starts[scope+1] &&
			slices.Equal(steps[:starts[scope+1]], vector[:starts[scope+1]]) {
			scope++
		}
		rest := steps[starts[scope]:]
		if slices.Contains(rest, each) {
			return nil, fmt.Errorf("%s-field %q: its list is not one that vector-field %q goes through",
				x.field, x.path, p.Vector)
		}
		position := m.scopes[scope].walk(rest)
		switch {
		case x.field == attributesPath && position.holdsVector():
			return nil, fmt.Errorf("%s-field %q: the vector is in it, and would be in every result", x.field, x.path)
		case position.inward, position.field != "", len(position.children) > 0 && x.field != attributesPath:
			return nil, fmt.Errorf("%s-field %q: another field is in the same position", x.field, x.path)
		}
		position.field = x.field
	}
	return m, nil
}

// mapped decodes JSON by the paths. The bool says whether a value was at the vector's path.
func (d *Decoder) mapped(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, bool, *Rejection) {
	w := mappedWalk{
		frame: frame{d: d, raw: raw, envelope: e, items: items}, lists: len(d.mapping.scopes) - 1,
	}
	s := scanner{b: value}
	if !w.scope(&s, 0, fields{}) || !s.end() {
		return items, true, s.bad
	}
	d.empty = NoObjects
	return w.items, w.reached, w.faults.rejection()
}

// mappedWalk is one pass over a value.
type mappedWalk struct {
	frame
	lists   int
	reached bool // a value is at the vector's path, or at that of its list
	// attributes that several items share, as they are in the record and copied once
	shared []byte
	copied json.RawMessage
}

// scope reads the value at the cursor: the record, or an element of the depth'th list. f holds the fields
// found outside of it.
func (w *mappedWalk) scope(s *scanner, depth int, f fields) bool {
	list := -1
	f.vector = w.d.scratch[:0]
	var bad *Rejection // of this item alone
	// try reads a value, or else rejects the item and skips the value.
	try := func(read func() bool) bool {
		from := s.i
		if read() {
			return true
		}
		bad, s.bad, s.i = s.bad, nil, from
		return s.pass(0)
	}
	var walk func(b *branch) bool
	walk = func(b *branch) bool {
		switch {
		case b.inward && s.null():
			return true
		case b.inward && depth < w.lists:
			list = s.i
			return s.pass(0)
		case b.inward:
			w.reached, f.hasVector = true, true
			return try(func() bool { return f.readVector(s, true) })
		case b.field == attributesPath:
			from := s.i
			var ok bool
			if f.attributes, ok = value(s); !ok || len(b.children) == 0 {
				return ok
			}
			if s.i = from; s.next() != '{' {
				return s.pass(0)
			}
		case b.field != "":
			to := &f.timeText
			if b.field != timePath {
				to = &f.texts[textField[b.field]]
			}
			return try(func() bool {
				name, ok := s.name(b.field + "-field")
				if ok {
					*to = name
				}
				return ok
			})
		case s.next() != '{':
			return s.pass(0)
		}
		return s.object(func(name []byte) bool {
			if next := b.children[string(name)]; next != nil {
				return walk(next)
			}
			return s.pass(0)
		})
	}
	s.space()
	if !walk(w.d.mapping.scopes[depth]) {
		return false
	}
	w.d.scratch = f.vector[:0]
	switch {
	case depth < w.lists && list < 0:
		return true
	case depth < w.lists:
		inside := scanner{b: s.b, i: list}
		w.reached = true
		if inside.next() != '[' {
			s.bad = reject(Unreadable, "vector-field %s: no list where one should be", w.d.mapping.path)
			return false
		}
		ok := inside.array(func(int) bool { return w.scope(&inside, depth+1, f) })
		s.bad = inside.bad
		return ok
	}
	object := int32(-1)
	if w.lists > 0 {
		object = int32(w.count)
		w.count++
		if s.refuse(checkObjects(w.count)) {
			return false
		}
	}
	switch {
	case bad != nil:
	case !f.hasVector && w.lists == 0: // the record has no vector
		return true
	case !f.hasVector:
		bad = reject(Unreadable, "nothing at vector-field %s", w.d.mapping.path)
	default:
		bad = w.item(&f, object)
	}
	if w.lists == 0 && bad != nil {
		s.bad = bad
		return false
	}
	w.faults.add(int(object), bad)
	return true
}

// item appends the item with the fields in f.
func (w *mappedWalk) item(f *fields, object int32) (bad *Rejection) {
	e := *w.envelope
	if len(f.timeText) > 0 {
		if f.time, bad = parseTime(f.timeText); bad != nil {
			return bad.within("time-field")
		}
	}
	f.field = f.texts[streamField]
	e.over(f)
	e.bytes = f.bytes
	if a := f.attributes; len(a) != len(w.shared) || len(a) > 0 && &a[0] != &w.shared[0] {
		w.shared, w.copied = a, text(a)
	}
	w.items, bad = w.d.append(w.raw, &e, w.items, clone(f.vector), object, w.copied)
	return bad
}
