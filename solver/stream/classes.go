package stream

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver/stream/internal/piece"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// examplesKept bounds the labelled items kept of a stream's own feed, in all classes together, as a feed
// may carry labels without end. Beyond it the class taught longest ago drops its oldest example, and the
// report lists it.
const examplesKept = 4096

// classes are the stream's classes, each with the labelled items of the stream's own feed.
type classes struct {
	kept  map[string][]example // oldest first; none for a class that the feed did not teach
	owner map[string]string    // the class of each example, by the example's id

	version uint64 // changes with the examples
}

// example is a labelled item of the stream's own feed.
type example struct {
	id      string
	vector  []float32 // never changed
	episode int64
}

// observe forgets the examples that the labels topic corrects or withdraws, updates the list of classes, and
// keeps the episode's labelled items.
func (c *classes) observe(e *episode) {
	for _, id := range e.problem.feed.withdrawn {
		c.forget(id)
	}
	if e.solved != nil {
		for _, name := range e.problem.names {
			if _, known := c.kept[name]; !known {
				c.add(name)
				if e.number > 1 {
					e.report.Events = append(e.report.Events, Event{Kind: "born", Class: name})
				}
			}
		}
		if len(c.kept) > len(e.problem.names) {
			for _, name := range c.names() {
				if !e.problem.labelled(name) && len(c.kept[name]) == 0 {
					delete(c.kept, name)
					e.report.Events = append(e.report.Events, Event{Kind: "retired", Class: name})
				}
			}
		}
	}
	if e.cold {
		return
	}
	for i := range e.items {
		if e.items[i].Label == "" {
			continue
		}
		taught := example{id: itemID(e.items, i, e.number), vector: slices.Clone(e.items[i].Vector), episode: e.number}
		if dropped := c.keep(e.items[i].Label, taught, e.stream.settings.Examples); dropped != "" {
			e.report.Dropped = append(e.report.Dropped, dropped)
		}
	}
	c.bound(e)
}

// bound drops the oldest example of the class taught longest ago until no more than examplesKept are left.
func (c *classes) bound(e *episode) {
	if len(c.owner) <= examplesKept {
		return
	}
	taught := slices.DeleteFunc(c.names(), func(name string) bool { return len(c.kept[name]) == 0 })
	last := func(name string) int64 { return c.kept[name][len(c.kept[name])-1].episode }
	slices.SortStableFunc(taught, func(a, b string) int { return cmp.Compare(last(a), last(b)) })
	ended := 0
	for len(c.owner) > examplesKept {
		id := c.kept[taught[ended]][0].id
		c.forget(id)
		e.report.Dropped = append(e.report.Dropped, id)
		if len(c.kept[taught[ended]]) == 0 {
			ended++
		}
	}
	e.report.note("more than %d items were taught: %d older ones were given up, the last ones of %d classes", examplesKept,
		len(e.report.Dropped), ended)
}

// itemID returns an item's id, or if it has none one made of its episode and index, so that it can still be
// kept and shown.
func itemID(items []Item, i int, episode int64) string {
	if items[i].ID != "" {
		return items[i].ID
	}
	return fmt.Sprintf("episode %d item %d", episode, i)
}

// names lists the classes in ascending order.
func (c *classes) names() []string { return slices.Sorted(maps.Keys(c.kept)) }

// add makes a class known, and adds examples to those that it has.
func (c *classes) add(name string, examples ...example) {
	if c.kept == nil {
		c.kept, c.owner = map[string][]example{}, map[string]string{}
	}
	c.kept[name] = append(c.kept[name], examples...)
}

// forget drops the example of an id, whatever its class.
func (c *classes) forget(id string) {
	name, ok := c.owner[id]
	if !ok {
		return
	}
	c.version++
	delete(c.owner, id)
	c.kept[name] = slices.DeleteFunc(c.kept[name], func(e example) bool { return e.id == id })
}

// keep adds a taught item to its class. A full class drops its oldest example. keep returns the id of the
// dropped one, "" if none was.
func (c *classes) keep(class string, taught example, most int) (dropped string) {
	c.forget(taught.id)
	c.add(class, taught)
	c.version++
	c.owner[taught.id] = class
	if len(c.kept[class]) > most {
		dropped = c.kept[class][0].id
		c.forget(dropped)
	}
	return dropped
}

func (c *classes) detach() {
	c.kept, c.owner = maps.Clone(c.kept), maps.Clone(c.owner)
	for name, examples := range c.kept {
		c.kept[name] = slices.Clone(examples)
	}
}

func (c *classes) reset(class string) bool {
	c.version++
	examples, had := c.kept[class]
	for i := range examples {
		delete(c.owner, examples[i].id)
	}
	delete(c.kept, class)
	return had
}

// bytes counts each example twice: as received, and prepared.
func (c *classes) bytes(d int) int { return 2*(4*d+overhead)*len(c.owner) + overhead*len(c.kept) }

func (c *classes) known() iter.Seq[string] { return maps.Keys(c.kept) }

func (c *classes) fields(f *piece.Fields) {
	examples, known := c.kept[f.Name]
	if f.Kind != "class" || f.Writes && !known {
		return
	}
	piece.List(f, piece.Example, &examples, func(f *piece.Fields, field int, x *example) {
		f.Group(field, func(f *piece.Fields) {
			piece.Text(f, piece.ID, &x.id)
			piece.Integer(f, piece.Episode, &x.episode)
			piece.Slice(f, piece.Vector, &x.vector, f.Dimension)
			f.Check(len(x.vector) == f.Dimension, "example")
		})
	})
	if f.Writes {
		return
	}
	c.add(f.Name, examples...)
	for _, x := range examples {
		c.owner[x.id] = f.Name
	}
}

// feed holds the examples of the stream's own feed that are in force. It is valid until labels change.
type feed struct {
	version, topic uint64 // of the feed's examples, and of the labels, that it was made from
	made           bool

	examples  *taught.Set     // by the stream's own feed
	withdrawn []string        // ids of the feed's examples that the labels topic corrects or withdraws
	classes   map[string]bool // that the feed taught
}

// follow rebuilds the lists if the labels or the feed's examples have changed.
func (f *feed) follow(s *Stream, labels *taught.ForStream) {
	if f.made && f.topic == labels.Version && f.version == s.classes.version {
		return
	}
	before := f.examples
	if before == nil {
		before = taught.Empty
	}
	*f = feed{topic: labels.Version, version: s.classes.version, made: true, classes: map[string]bool{}}
	var changes []taught.Change
	kept := map[string]bool{}
	for _, name := range s.classes.names() {
		for _, e := range s.classes.kept[name] {
			if _, corrected := labels.Label(e.id); corrected || labels.Forgotten(e.id) {
				f.withdrawn = append(f.withdrawn, e.id)
				continue
			}
			f.classes[name], kept[e.id] = true, true
			changes = append(changes, taught.Change{Example: taught.Example{ID: e.id, Label: name, Vector: e.vector}})
		}
	}
	for e := range before.All() {
		if !kept[e.ID] {
			changes = append(changes, taught.Change{Example: taught.Example{ID: e.ID}, Out: true})
		}
	}
	f.examples = before.With(changes)
}
