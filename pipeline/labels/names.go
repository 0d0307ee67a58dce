package labels

import (
	"cmp"
	"iter"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// naming holds the names and rejections that follow from the records of the labels topic.
type naming struct {
	names      *taught.Names
	rejections *taught.Rejections
	// forgotten maps a name to the record that forgets it, and wasCalled a class to the records that forget a
	// name it had. Earlier records about either are not in force.
	forgotten map[string]*Record
	wasCalled map[record.CalledSo][]*Record
	given     *taught.Names               // all names, including those forgotten since
	givenBy   map[record.CalledSo]*Record // the record of each of them
	faults    map[*Record]error           // why a name is not in force
	leftOut   int                         // rejections beyond the bound
	resets    []*Record                   // streams forget what they learned of a forgotten name

	identities identities
}

// newNaming computes names and rejections from their records, oldest first.
func newNaming(records []*Record) *naming {
	n := &naming{
		forgotten: map[string]*Record{}, wasCalled: map[record.CalledSo][]*Record{}, faults: map[*Record]error{},
		givenBy: map[record.CalledSo]*Record{},
	}
	var named, inForce []taught.Name
	var from []*Record
	for _, r := range records {
		switch {
		case r.Name == nil, r.ofLink():
		case r.Name.Into == "":
			n.forgotten[r.Name.Name] = r
			for _, class := range r.Name.Called {
				n.wasCalled[class] = append(n.wasCalled[class], r)
			}
		default:
			named = append(named, taught.Name{Stream: r.Name.Stream, Name: r.Name.Name, Into: r.Name.Into})
			from = append(from, r)
		}
	}
	given, faults := taught.NewNames(named)
	n.given, n.names = given, given
	for i, r := range from {
		if faults[i] == nil {
			n.givenBy[record.CalledSo{Class: r.Name.Name, Stream: r.Name.Stream}] = r
		} else {
			n.faults[r] = faults[i]
		}
	}
	for i, r := range from {
		if !n.cut(r.Name.Stream, r.Name.Name, r) && !n.cut(r.Name.Stream, r.Name.Into, r) {
			inForce = append(inForce, named[i])
		}
	}
	if len(inForce) < len(named) {
		n.names, _ = taught.NewNames(inForce)
	}
	var rejections []taught.Rejection
	for _, r := range records {
		if r.Not == nil {
			continue
		}
		not := slices.DeleteFunc(slices.Clone(r.Not.Not),
			func(class string) bool { return n.cut(r.Stream(), class, r) })
		if len(not) > 0 {
			rejections = append(rejections, taught.Rejection{
				ID: r.Key, Stream: r.Not.Stream, Model: r.Not.Model, Track: r.Not.Track, Not: not, Vector: r.Not.Vector,
			})
		}
	}
	n.identities = n.newIdentities(records)
	n.rejections, n.leftOut = taught.NewRejections(rejections)
	for name, f := range n.forgotten {
		n.resets = append(n.resets, f.resetting(record.Reset{Class: name}))
	}
	for class, list := range n.wasCalled {
		for _, f := range list {
			n.resets = append(n.resets, f.resetting(record.Reset{Stream: class.Stream, Class: class.Class}))
		}
	}
	for i, r := range from {
		if n.faults[r] != nil {
			continue
		}
		x := &named[i]
		for f := range n.forgets(x.Stream, x.Name) {
			n.resets = append(n.resets, f.resetting(record.Reset{Stream: x.Stream, Class: x.Name}))
		}
	}
	order := func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset),
			cmp.Compare(a.Class(), b.Class()), cmp.Compare(a.Stream(), b.Stream()))
	}
	slices.SortFunc(n.resets, order)
	n.resets = slices.CompactFunc(n.resets, func(a, b *Record) bool { return order(a, b) == 0 })
	return n
}

// resetting returns a reset at the record's place.
func (r *Record) resetting(what record.Reset) *Record {
	return &Record{Label: record.Label{Reset: &what}, Partition: r.Partition, Offset: r.Offset}
}

// forgets yields the records that forget a class, or a name that it had by then.
func (n *naming) forgets(in, class string) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if len(n.forgotten) == 0 {
			return
		}
		scopes := slices.Compact([]string{in, ""})
		var latest *Record // of those that give the names on the way
		for name := range n.given.Chain(in, class) {
			if f := n.forgotten[name]; f != nil && f.after(latest) && !yield(f) {
				return
			}
			for _, of := range scopes {
				for _, f := range n.wasCalled[record.CalledSo{Class: name, Stream: of}] {
					if f.after(latest) && !yield(f) {
						return
					}
				}
			}
			for _, of := range scopes {
				if r := n.givenBy[record.CalledSo{Class: name, Stream: of}]; r != nil {
					if r.after(latest) {
						latest = r
					}
					break
				}
			}
		}
	}
}

// cut says whether a record about a class came before that class, or a name given to it, was forgotten. A nil
// record stands for the support, which is older than every record.
func (n *naming) cut(in, class string, r *Record) bool {
	for f := range n.forgets(in, class) {
		if r == nil || f.after(r) {
			return true
		}
	}
	return false
}
