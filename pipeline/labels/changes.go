package labels

import (
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

// Naming returns the latest record that gives or takes back a name of a class in a stream, or a name of that
// name; an empty record if the process holds none.
func (l *Topic) Naming(to *Version, in, class string) *Record {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var latest *Record
	for name := range to.naming.given.Chain(in, class) {
		for _, of := range []string{in, ""} {
			if r := l.records.holds(record.NameKey(name, of), to.Next); r != nil && r.after(latest) {
				latest = r
			}
		}
	}
	if latest == nil {
		return &Record{}
	}
	return latest
}

// Name returns the name in use of a class in a stream.
func (v *Version) Name(stream, class string) string { return v.naming.names.Of(stream, class) }

// Forgot returns the latest record not covered by a position that forgets one of these classes and labels in
// a stream, or a name that one had by then; nil: none.
func (v *Version) Forgot(since Position, in string, classes ...string) (latest *Record) {
	for _, class := range classes {
		for f := range v.naming.forgets(in, class) {
			if !v.Knew(since, f) && f.after(latest) {
				latest = f
			}
		}
	}
	return latest
}

// ForgetsSince says whether a record that forgets a name is not covered by a position.
func (v *Version) ForgetsSince(p Position) bool {
	for _, f := range v.naming.forgotten {
		if !v.Knew(p, f) {
			return true
		}
	}
	return false
}

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
