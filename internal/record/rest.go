package record

import (
	"cmp"
	"slices"
)

// Rest is the text of a record around one of its items: all but the item's vector and, of each list that the
// vector's path goes through, the other elements. Items of one record share what is around all of them.
type Rest struct {
	outer         *Rest
	before, after []byte
}

// Append appends the text, which is JSON.
func (r *Rest) Append(dst []byte) []byte {
	var inward []*Rest
	for ; r != nil; r = r.outer {
		inward = append(inward, r)
	}
	for _, r := range slices.Backward(inward) {
		dst = append(dst, r.before...)
	}
	for _, r := range inward {
		dst = append(dst, r.after...)
	}
	return dst
}

// Rests returns the rest of each item of a JSON record that Decode accepted, by Source.Object; or the whole record as
// the only one, where its items are encoded. They are parts of value.
func (d *Decoder) Rests(value []byte, items []Item) (rests []*Rest) {
	w := restWalk{vectors: []string{"vector", "embedding", "tensors"}}
	var steps []string
	switch {
	case d.scopes != nil:
		steps, _ = parsePath(cmp.Or(d.options.Paths.Vector, "vector")) // it is one: there are scopes
		w.vectors = nil
		if last := len(steps) - 1; steps[last] != each {
			steps, w.vectors = steps[:last], steps[last:]
		}
	case len(items) > 0 && items[0].Source.Object >= 0:
		steps = []string{"objects", each}
	}
	names := map[string]bool{}
	Members(value, func(name string, _ []byte) { names[name] = true })
	if d.scopes == nil && names["specversion"] && names["data"] {
		steps = append([]string{"data"}, steps...)
	}
	if w.walk(value, steps, nil); len(w.rests) == 0 {
		w.rests = []*Rest{{before: value}}
	}
	return w.rests
}

// restWalk collects the rests of a record's items.
type restWalk struct {
	vectors []string // members of an item that hold its vector; nil: the item is the vector
	rests   []*Rest
}

// walk follows the steps from a value, which outer is around.
func (w *restWalk) walk(value []byte, steps []string, outer *Rest) {
	s := scanner{b: value}
	s.space()
	switch {
	case len(steps) == 0:
		w.rests = append(w.rests, &Rest{outer: outer, before: w.withoutVector(&s)})
	case steps[0] == each:
		list := &Rest{outer, []byte("["), []byte("]")}
		if s.next() == '[' {
			s.array(func(int) bool {
				element, ok := s.skip()
				w.walk(element, steps[1:], list)
				return ok
			})
		}
	case s.next() == '{':
		from, to := 0, 0
		s.object(func(name []byte) bool {
			at := s.i
			ok := s.pass(0)
			if string(name) == steps[0] {
				from, to = at, s.i
			}
			return ok
		})
		if to > 0 {
			w.walk(value[from:to], steps[1:], &Rest{outer, value[:from], value[to:]})
		}
	}
}

// withoutVector returns the item at the cursor without the members that hold its vector.
func (w *restWalk) withoutVector(s *scanner) []byte {
	if w.vectors == nil {
		return nil
	}
	var rest object
	s.object(func(name []byte) bool {
		member := string(name)
		value, ok := s.skip()
		if ok && !slices.Contains(w.vectors, member) {
			rest.add(member, value)
		}
		return ok
	})
	if rest == nil {
		return []byte("{}")
	}
	return rest.json()
}
