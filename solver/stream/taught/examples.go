package taught

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"sync"

	"github.com/slkstream/slkstream/internal/ordered"
)

// Entry is an example with a hash of its content. It is immutable.
type Entry struct {
	Example
	Sum     uint64
	inverse float32 // of its length; 0: it has no direction
	code    code
}

// Set is a set of examples, one per id, with a sum of their hashes, by which sets are compared. It is
// immutable except for the fields under mutex, which are made at first use.
type Set struct {
	byID    ordered.List[*Entry]
	byLabel ordered.List[*Entry] // then by id
	Sum     uint64               // of the examples' hashes: their order does not matter

	mutex sync.Mutex
	ready map[Fit]*Prepared

	hashed int // examples read to make this set
}

func (x *Entry) compareID(id string) int { return cmp.Compare(x.ID, id) }

func (x *Entry) compareLabel(label string) int { return cmp.Compare(x.Label, label) }

// Empty is the set without examples.
var Empty = &Set{
	byID: ordered.New(func(a, b *Entry) int { return a.compareID(b.ID) }),
	byLabel: ordered.New(func(a, b *Entry) int {
		return cmp.Or(a.compareLabel(b.Label), a.compareID(b.ID))
	}),
}

// With returns the set with the changes applied; the last of an id counts.
func (s *Set) With(changes []Change) *Set {
	if len(changes) == 0 {
		return s
	}
	last := make(map[string]int, len(changes))
	for i := range changes {
		last[changes[i].Example.ID] = i
	}
	set := &Set{Sum: s.Sum}
	var ids, labels []ordered.Edit[*Entry]
	for i := range changes {
		e := &changes[i].Example
		old := s.Find(e.ID)
		switch {
		case last[e.ID] != i, old == nil && changes[i].Out:
			continue
		case old != nil && !changes[i].Out && old.Same(e):
			continue
		}
		next := &Entry{Example: *e}
		if !changes[i].Out {
			next.Sum, next.inverse = e.sum(), e.inverse()
			set.hashed++
			if old != nil && old.Sum == next.Sum {
				continue
			}
			if s.Len()+len(changes) > WholeMost {
				next.encode()
			}
			set.Sum += next.Sum
		}
		if old != nil {
			set.Sum -= old.Sum
			labels = append(labels, ordered.Edit[*Entry]{Value: old, Out: true})
		}
		ids = append(ids, ordered.Edit[*Entry]{Value: next, Out: changes[i].Out})
		if !changes[i].Out {
			labels = append(labels, ordered.Edit[*Entry]{Value: next})
		}
	}
	set.byID, set.byLabel = s.byID.Edit(ids), s.byLabel.Edit(labels)
	return set
}

// Same reports whether two examples of one id are equal. It compares the vectors by address only.
func (a *Example) Same(b *Example) bool {
	return a.Label == b.Label && a.Model == b.Model && len(a.Vector) == len(b.Vector) && len(a.Vector) > 0 &&
		&a.Vector[0] == &b.Vector[0]
}

// Len returns the number of examples.
func (s *Set) Len() int { return s.byID.Len() }

// All lists the examples in the order of their ids: learning does not depend on the order of arrival.
func (s *Set) All() iter.Seq[*Entry] { return s.byID.All() }

// of lists the examples of a label in the order of their ids.
func (s *Set) of(label string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for e := range ordered.From(s.byLabel, label, (*Entry).compareLabel) {
			if e.Label != label || !yield(e) {
				return
			}
		}
	}
}

// Has reports whether the set has an example of a label.
func (s *Set) Has(label string) bool {
	e, ok := ordered.Search(s.byLabel, label, (*Entry).compareLabel)
	return ok && e.Label == label
}

// Find returns the example of an id; nil: none.
func (s *Set) Find(id string) *Entry {
	if e, ok := ordered.Search(s.byID, id, (*Entry).compareID); ok && e.ID == id {
		return e
	}
	return nil
}

// Label returns the label of an id in the set.
func (s *Set) Label(id string) (string, bool) {
	if e := s.Find(id); e != nil {
		return e.Label, true
	}
	return "", false
}

// sum hashes an example's whole content.
func (e Example) sum() uint64 {
	h := fnv.New64a()
	h.Write([]byte(e.ID))
	h.Write([]byte{0})
	h.Write([]byte(e.Label))
	h.Write([]byte{0})
	h.Write([]byte(e.Model))
	var b [4]byte
	for _, v := range e.Vector {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		h.Write(b[:])
	}
	return h.Sum64()
}

// inverse returns 1 / |vector|; 0 if it has no direction.
func (e Example) inverse() float32 {
	var square float64
	for _, v := range e.Vector {
		square += float64(v) * float64(v)
	}
	if inverse := 1 / math.Sqrt(square); inverse <= math.MaxFloat32 {
		return float32(inverse)
	}
	return 0
}

// Digest names labelled examples by what they hold; "": there are none. Their IDs do not count, which name the file
// where an example has none of its own.
func Digest(examples []Example) string {
	if len(examples) == 0 {
		return ""
	}
	sum := sha256.New()
	var number [4]byte
	for i := range examples {
		e := &examples[i]
		fmt.Fprintf(sum, "%q %q %d ", e.Label, e.Model, len(e.Vector))
		for _, v := range e.Vector {
			binary.LittleEndian.PutUint32(number[:], math.Float32bits(v))
			sum.Write(number[:])
		}
	}
	return fmt.Sprintf("%d examples, %x", len(examples), sum.Sum(nil)[:8])
}
