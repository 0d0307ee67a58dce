package labels

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// identities are the names that links gave: of clusters into identities, and of identities into the names that people
// gave to one of their clusters. They change no label, so that streams answer and learn as before.
type identities map[string]string

// newIdentities returns the names of records, oldest first.
func (n *naming) newIdentities(records []*Record) identities {
	found := identities{}
	for _, r := range records {
		if r.ofLink() && !n.cut("", r.Name.Into, r) {
			found[r.Name.Name] = r.Name.Into
		}
	}
	return found
}

// linked returns the naming after records of the link alone; nil: one of them is not.
func (n *naming) linked(said []ordered.Edit[*Record]) *naming {
	if slices.ContainsFunc(said, func(x ordered.Edit[*Record]) bool { return !x.Value.ofLink() }) {
		return nil
	}
	if len(said) == 0 {
		return n
	}
	next := *n
	next.identities = maps.Clone(n.identities)
	var now []*Record
	for _, x := range said {
		if x.Out {
			delete(next.identities, x.Value.Name.Name)
		} else {
			now = append(now, x.Value)
		}
	}
	maps.Copy(next.identities, n.newIdentities(now))
	return &next
}

func (r *Record) ofLink() bool {
	if r == nil || r.Name == nil {
		return false
	}
	_, is := r.Name.OfLink()
	return is
}

// Identity returns what the clusters of several streams that are one thing are called by the link of a
// group: shop/identity-5, or the name that people gave to it or to one of them; "": the cluster is of no identity, or
// class is no cluster.
func (v *Version) Identity(group string, of record.StreamID, class string) string {
	all := v.naming.identities
	if group == "" || len(all) == 0 || !strings.HasPrefix(class, "cluster-") {
		return ""
	}
	return v.naming.called(all[record.InGroup(group, record.ClusterName(of, class))])
}

// called returns what an identity is called; "" of none.
func (n *naming) called(id string) string {
	if name := n.names.Of("", id); name != id {
		return name
	}
	return cmp.Or(n.identities[id], id)
}

// Linked is a cluster of an identity.
type Linked struct {
	Identity string // as Identity returns it
	Of       record.StreamID
	Cluster  string
}

// Linked lists the clusters that are of an identity of the link of a group, in no order.
func (v *Version) Linked(group string) (list []Linked) {
	for name, into := range v.naming.identities {
		if in, id := record.IdentityOf(into); id == 0 || in != group {
			continue // another link's, or the name of an identity
		}
		name, _ := strings.CutPrefix(name, record.InGroup(group, ""))
		if of, cluster, ok := record.ClusterOf(name); ok {
			list = append(list, Linked{v.naming.called(into), of, cluster})
		}
	}
	return list
}

// Identities returns the names that the link of a group gave.
func (v *Version) Identities(group string) (names []record.Name) {
	for name, into := range v.naming.identities {
		n := record.Name{Name: name, Into: into, By: record.ByLink}
		if of, _ := n.OfLink(); of == group {
			names = append(names, n)
		}
	}
	return names
}

// Covers says whether the version has all that spans of the labels topic, one for each partition, hold.
func (v *Version) Covers(spans []topic.Span) bool {
	return !slices.ContainsFunc(spans, func(s topic.Span) bool { return v.Next.offset(int(s.Partition)) < s.To })
}
