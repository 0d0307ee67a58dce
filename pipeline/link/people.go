package link

import (
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/identity"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// people are what people have said.
type people struct {
	names     *taught.Names
	called    map[string]string // what they call names in all streams: classes, identities, and clusters by ClusterName
	rejected  map[[2]identity.Key]bool
	forgotten map[record.CalledSo]bool // names, and the classes that had them
}

// newPeople sorts what people have said.
func newPeople(names []record.Name, rejections []record.NotThis) people {
	p := people{
		called: map[string]string{}, rejected: map[[2]identity.Key]bool{}, forgotten: map[record.CalledSo]bool{},
	}
	var list []taught.Name
	for i := range names {
		n := &names[i]
		if _, is := n.OfLink(); is {
			continue
		}
		if n.Into == "" {
			p.forgotten[record.CalledSo{Class: n.Name}] = true
			for _, class := range n.Called {
				p.forgotten[class] = true
			}
			continue
		}
		list = append(list, taught.Name{Stream: n.Stream, Name: n.Name, Into: n.Into})
	}
	p.names, _ = taught.NewNames(list)
	for _, n := range list {
		if n.Stream == "" {
			p.called[n.Name] = p.names.Of("", n.Name)
		}
	}
	for i := range rejections {
		for _, other := range rejections[i].Not {
			a, b := keyIn(rejections[i].ItemID), keyIn(other)
			if a.Compare(b) > 0 {
				a, b = b, a
			}
			if a != (identity.Key{}) && a != b {
				p.rejected[[2]identity.Key{a, b}] = true
			}
		}
	}
	return p
}

// nameOf is the name that people gave to a cluster, by teaching one of its items or by naming it; "": none.
func (p *people) nameOf(c *record.Cluster) string {
	class := c.Cluster
	if c.Label != "" {
		class = c.Label
	}
	if name := p.names.Of(c.Stream, class); name != c.Cluster {
		return name
	}
	return ""
}

// tells says whether a cluster gives its identity a name. A label that was forgotten does not: a cluster has it until its
// stream's next episode, however silent that is. Names given since do.
func (p *people) tells(c *record.Cluster) bool {
	name := p.nameOf(c)
	return name != "" && (name != c.Label || !p.forgotten[record.CalledSo{Class: name}] &&
		!p.forgotten[record.CalledSo{Class: name, Stream: c.Stream}])
}
