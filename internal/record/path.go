package record

import (
	"encoding/json"
	"fmt"
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

// Fields that a path may locate, besides the vector.
const (
	idField = iota
	timeField
	labelField
	streamField
	frameField
	trackField
	attributesField // last, because it may contain the others
	pathFields
)

var pathSettings = [pathFields]string{
	"id-field", "time-field", "label-field", "stream-field", "frame-field", "track-field", "attributes-field",
}

// mapping is compiled Paths: a tree of names for the record outside of lists, and one for the elements of
// each list on the vector's path.
type mapping struct {
	scopes []*branch
	path   string // of the vector
}

// branch is a node of such a tree: a position in the JSON that is on a path.
type branch struct {
	children map[string]*branch
	field    int  // the field at this position, or -1
	inward   bool // the vector, or the list that contains it, is at this position
}

func newBranch() *branch { return &branch{field: -1} }

func (b *branch) walk(names []string) *branch {
	for _, name := range names {
		if b.children == nil {
			b.children = map[string]*branch{}
		}
		if b.children[name] == nil {
			b.children[name] = newBranch()
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
	paths := [pathFields]string{p.ID, p.Time, p.Label, p.Stream, p.Frame, p.Track, p.Attributes}
	if p.Vector == "" {
		for i, path := range paths {
			if path != "" {
				return nil, fmt.Errorf("%s %q: needs vector-field", pathSettings[i], path)
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
		scope := newBranch()
		scope.walk(vector[start:end]).inward = true
		m.scopes = append(m.scopes, scope)
	}
	for field, path := range paths {
		if path == "" {
			continue
		}
		steps, err := parsePath(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pathSettings[field], err)
		}
		scope := 0
		for scope+1 < len(starts) && len(steps) >= starts[scope+1] && equalSteps(steps[:starts[scope+1]], vector) {
			scope++
		}
		rest := steps[starts[scope]:]
		for _, step := range rest {
			if step == each {
				return nil, fmt.Errorf("%s %q: its list is not one that vector-field %q goes through",
					pathSettings[field], path, p.Vector)
			}
		}
		position := m.scopes[scope].walk(rest)
		switch {
		case field == attributesField && position.holdsVector():
			return nil, fmt.Errorf("%s %q: the vector is in it, and would be in every result", pathSettings[field],
				path)
		case position.inward, position.field >= 0, len(position.children) > 0 && field != attributesField:
			return nil, fmt.Errorf("%s %q: another field is in the same position", pathSettings[field], path)
		}
		position.field = field
	}
	return m, nil
}

func equalSteps(steps, vector []string) bool {
	for i, step := range steps {
		if step != vector[i] {
			return false
		}
	}
	return true
}

// found holds the fields of one item that were found so far.
type found [pathFields][]byte

// mapped decodes JSON by the paths. The bool says whether a value was at the vector's path.
func (d *Decoder) mapped(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, bool, *Rejection) {
	w := mappedWalk{d: d, raw: raw, envelope: e, items: items, lists: len(d.mapping.scopes) - 1}
	s := scanner{b: value}
	if !w.scope(&s, 0, found{}) || !s.end() {
		return items, true, s.bad
	}
	if w.objects == 0 && w.lists > 0 && w.reached {
		d.empty = NoObjects
		return w.items, true, nil
	}
	return w.items, w.reached, w.faults.rejection()
}

// mappedWalk is one pass over a value.
type mappedWalk struct {
	d        *Decoder
	raw      *Raw
	envelope *envelope
	items    []Item
	lists    int
	objects  int
	reached  bool // a value is at the vector's path, or at that of its list
	faults   faults
	// attributes that several items share, as they are in the record and copied once
	shared []byte
	copied json.RawMessage
}

// scope reads the value at the cursor: the record, or an element of the depth'th list. known holds the fields
// found outside of it.
func (w *mappedWalk) scope(s *scanner, depth int, known found) bool {
	list, vector := -1, false
	f := fields{vector: w.d.scratch[:0]}
	var bad *Rejection // of this item alone
	var walk func(b *branch) bool
	walk = func(b *branch) bool {
		switch {
		case b.inward && depth < w.lists:
			if s.null() {
				return true
			}
			list = s.i
			return s.pass(0)
		case b.inward:
			if s.null() {
				return true
			}
			w.reached, vector = true, true
			from := s.i
			if !f.readVector(s, true) {
				bad, s.bad, s.i = s.bad, nil, from
				return s.pass(0)
			}
			return true
		case b.field == attributesField:
			from := s.i
			var ok bool
			if known[attributesField], ok = value(s); !ok || len(b.children) == 0 {
				return ok
			}
			if s.i = from; s.next() != '{' {
				return s.pass(0)
			}
		case b.field >= 0:
			from := s.i
			name, ok := s.name(pathSettings[b.field])
			if !ok {
				bad, s.bad, s.i = s.bad, nil, from
				return s.pass(0)
			}
			known[b.field] = name
			return true
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
		ok := inside.array(func(int) bool { return w.scope(&inside, depth+1, known) })
		s.bad = inside.bad
		return ok
	}
	object := int32(-1)
	if w.lists > 0 {
		object = int32(w.objects)
		w.objects++
		if s.refuse(checkObjects(w.objects)) {
			return false
		}
	}
	switch {
	case bad != nil:
	case !vector && w.lists == 0: // the record has no vector
		return true
	case !vector:
		bad = reject(Unreadable, "nothing at vector-field %s", w.d.mapping.path)
	default:
		bad = w.add(&f, &known, object)
	}
	if w.lists == 0 && bad != nil {
		s.bad = bad
		return false
	}
	w.faults.add(int(object), bad)
	return true
}

// add appends the item with the vector in f and the fields in known.
func (w *mappedWalk) add(f *fields, known *found, object int32) (bad *Rejection) {
	e := *w.envelope
	put := func(to *[]byte, field int) {
		if len(known[field]) > 0 {
			*to = known[field]
		}
	}
	put(&e.id, idField)
	put(&e.label, labelField)
	put(&e.stream, streamField)
	put(&e.frame, frameField)
	put(&e.track, trackField)
	if text := known[timeField]; len(text) > 0 {
		if e.time, bad = parseTime(text); bad != nil {
			return bad.within("time-field")
		}
	}
	e.bytes = f.bytes
	if a := known[attributesField]; len(a) != len(w.shared) || len(a) > 0 && &a[0] != &w.shared[0] {
		w.shared, w.copied = a, text(a)
	}
	w.items, bad = w.d.append(w.raw, &e, w.items, clone(f.vector), object, w.copied, known[streamField])
	return bad
}
