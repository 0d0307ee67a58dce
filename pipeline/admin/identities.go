package admin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/solver/identity"
)

// Seen is a cluster of a stream that is the same thing as one of another stream.
type Seen struct {
	Identity int64  `json:"identity"` // of all clusters of the thing
	Stream   string `json:"stream"`
	Cluster  string `json:"cluster"`
	Label    string `json:"label"` // its name after a labelled member, else Cluster
	Items    int64  `json:"items"`
}

// Identities says what several of the streams have seen, thing by thing, those of most items first: of this stream or,
// with "", of any. Clusters of different labels are never the same thing.
func Identities(list []Remembered, of string) []Seen {
	linker := identity.New(identity.Defaults())
	clusters := map[identity.Key]*Seen{}
	streams, wanted := map[int64]map[string]bool{}, map[int64]bool{}
	for i := range list {
		r := &list[i]
		at := fmt.Sprintf("%s/%d/%s", r.Topic, r.Partition, r.Stream)
		var all []identity.Cluster
		for _, c := range r.Memory.Clusters {
			key := identity.Key{Stream: at, Cluster: c.Cluster, Model: r.Model}
			clusters[key] = &Seen{Stream: r.Stream, Cluster: c.Cluster, Label: c.Label, Items: c.Items}
			one := identity.Cluster{Key: key, Mean: c.Mean, Items: c.Items, Apart: c.Apart}
			if c.Label != c.Cluster {
				one.Name = c.Label
			}
			all = append(all, one)
		}
		linker.Update(all, nil)
	}
	items := map[int64]int64{}
	for key, c := range clusters {
		c.Identity = linker.Of(key)
		if items[c.Identity] += c.Items; streams[c.Identity] == nil {
			streams[c.Identity] = map[string]bool{}
		}
		streams[c.Identity][key.Stream] = true
		wanted[c.Identity] = wanted[c.Identity] || of == "" || c.Stream == of
	}
	var out []Seen
	for _, c := range clusters {
		if c.Identity != 0 && len(streams[c.Identity]) > 1 && wanted[c.Identity] {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(items[b.Identity], items[a.Identity]), cmp.Compare(a.Identity, b.Identity),
			cmp.Compare(a.Stream, b.Stream), cmp.Compare(b.Items, a.Items), cmp.Compare(a.Cluster, b.Cluster))
	})
	return out
}
