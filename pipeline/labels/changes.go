package labels

import (
	"iter"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// Change is a key on which two versions of the labels differ.
type Change struct {
	By  *Record // the record that made the change
	Now Scoped  // in force now; its example is nil if there is none
}

// IsName says whether the key is a name's.
func (c *Change) IsName() bool { return strings.HasPrefix(c.By.Key, namePrefix) }

// namePrefix begins the keys of names.
var namePrefix = record.NameKey("", "")

// Changes lists the differences between two versions, in the order of the records that caused them. It
// returns false if the process no longer holds those records.
func (l *Topic) Changes(from Position, to *Version) ([]Change, bool) {
	from = to.since(from)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.records == nil || !l.records.reaches(from) {
		return nil, false
	}
	var out []Change
	for key := range l.records.changed(from, to.Next) {
		before, now := l.records.holds(key, from), l.records.holds(key, to.Next)
		if now == nil || before == now {
			continue
		}
		out = append(out, Change{now, l.records.inForce(to, key)})
	}
	slices.SortFunc(out, func(a, b Change) int { return a.By.before(b.By) })
	return out, true
}

// InForce returns what a version says of the example with an ID, and the latest record of that ID; nil: none.
func (l *Topic) InForce(v *Version, id string) (Scoped, *Record) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.records.inForce(v, id), l.records.holds(id, v.Next)
}

// Naming returns the record that names, or no longer names, one of these classes in a stream; an empty record
// if the process holds none.
func (l *Topic) Naming(to *Version, in string, names ...string) *Record {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, name := range names {
		for _, of := range []string{in, ""} {
			if r := l.records.holds(record.NameKey(name, of), to.Next); r != nil {
				return r
			}
		}
	}
	return &Record{}
}

// Called yields the names of a class in a stream, from the given one to the one in use, those forgotten since
// among them.
func (v *Version) Called(stream, class string) iter.Seq[string] {
	return v.naming.given.Chain(stream, class)
}

// Name returns the name in use of a class in a stream.
func (v *Version) Name(stream, class string) string { return v.naming.names.Of(stream, class) }

// Forgotten maps names to the records that forget them. Earlier records about a name are not in force.
func (v *Version) Forgotten() map[string]*Record { return v.naming.forgotten }

// Examples lists those in force.
func (v *Version) Examples() recent.Examples {
	return func(yield func(recent.Example) bool) {
		for stream, e := range v.Labels.All() {
			if !yield(recent.Example{ID: e.ID, Stream: stream, Model: e.Model, Vector: e.Vector}) {
				return
			}
		}
	}
}
