package taught

import (
	"errors"
	"fmt"
	"iter"
)

// Name renames a class or a cluster in one stream or, with Stream "", in all. Only users give names. A name
// changes the labels of answers and nothing that a stream learns, so that removing it restores the answers.
type Name struct{ Stream, Name, Into string }

const (
	namesMost = 10_000 // in force at once
	chainMost = 32     // names in one chain
)

// ErrName is wrapped by the reasons why names are not in force.
var ErrName = errors.New("the name is not in force")

// Names are the names in force. They are immutable; nil: none.
type Names struct {
	everyone map[string]string
	streams  map[string]map[string]string // a stream's own names override everyone's
}

// NewNames puts names in force, the first ones first. faults has the reason for each that is not in force,
// nil for the others: it would close a circle or make too long a chain with those before it, or there are too
// many. Names for all streams come before those for single ones. Of two for the same class and stream the
// later one counts.
func NewNames(list []Name) (names *Names, faults []error) {
	faults = make([]error, len(list))
	last := map[[2]string]int{}
	for i, n := range list {
		last[[2]string{n.Stream, n.Name}] = i
	}
	names = &Names{everyone: map[string]string{}, streams: map[string]map[string]string{}}
	behind := map[[2]string]int{} // by stream and name: length of the longest chain that leads to it
	count := 0
	for _, everyone := range []bool{true, false} {
		for i, n := range list {
			if (n.Stream == "") != everyone || last[[2]string{n.Stream, n.Name}] != i {
				continue
			}
			if count == namesMost {
				faults[i] = fmt.Errorf("%w: there are %d names", ErrName, namesMost)
				continue
			}
			if faults[i] = names.add(n, behind); faults[i] == nil {
				count++
			}
		}
	}
	return names, faults
}

func (n *Names) add(name Name, behind map[[2]string]int) error {
	chain := []string{name.Into}
	before := behind[[2]string{"", name.Name}]
	if name.Stream != "" {
		before += behind[[2]string{name.Stream, name.Name}]
	}
	for at, more := name.Into, true; more; {
		if before+len(chain) > chainMost {
			return fmt.Errorf("%w: more than %d names lead one into the other", ErrName, chainMost)
		}
		if at, more = n.next(name.Stream, at); more && at == name.Name {
			return fmt.Errorf("%w: %q leads back to itself over %q", ErrName, name.Name, chain[len(chain)-1])
		} else if more {
			chain = append(chain, at)
		}
	}
	for i, at := range chain {
		key := [2]string{name.Stream, at}
		behind[key] = max(behind[key], before+i+1)
	}
	if name.Stream == "" {
		n.everyone[name.Name] = name.Into
		return nil
	}
	if n.streams[name.Stream] == nil {
		n.streams[name.Stream] = map[string]string{}
	}
	n.streams[name.Stream][name.Name] = name.Into
	return nil
}

func (n *Names) next(stream, name string) (into string, ok bool) {
	if into, ok = n.streams[stream][name]; ok {
		return into, true
	}
	into, ok = n.everyone[name]
	return into, ok
}

func (n *Names) none() bool { return n == nil || len(n.everyone)+len(n.streams) == 0 }

// Chain lists the names of a class in a stream, from its own to the one in use.
func (n *Names) Chain(stream, class string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ok := true; ok && yield(class); {
			if n == nil {
				return
			}
			class, ok = n.next(stream, class)
		}
	}
}

// Of returns the name in use for a class or a cluster in a stream, at the end of its chain of names: class
// itself if it was not renamed.
func (n *Names) Of(stream, class string) string {
	if n == nil {
		return class
	}
	for {
		into, ok := n.next(stream, class)
		if !ok {
			return class
		}
		class = into
	}
}
