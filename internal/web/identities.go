package web

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
)

// identityView is what several streams have seen, each under clusters of its own.
type identityView struct {
	Name     string        `json:"name"`
	Clusters []clusterView `json:"clusters"` // by stream
	streams  []string      // in which it has been
}

// clusterView is a cluster of a stream.
type clusterView struct {
	Stream  string `json:"stream"`
	Cluster string `json:"cluster"`
	Model   string `json:"model,omitempty"`
}

func (a clusterView) compare(b clusterView) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Model, b.Model))
}

// identities are what the link of the stage has found.
type identities struct {
	all       []*identityView // those of most clusters first, at most mostLabels
	byCluster map[clusterView]*identityView
}

// identities returns what the link has found, as it was at most cachedFor ago.
func (p *Page) identities() *identities {
	found, _ := p.linked.of(func() (*identities, error) {
		found := &identities{all: []*identityView{}, byCluster: map[clusterView]*identityView{}}
		if p.stage == nil { // similar items can be asked for before there is a stage
			return found, nil
		}
		byName := map[string]*identityView{}
		for _, l := range p.stage.Linked() {
			one := byName[l.Identity]
			if one == nil {
				one = &identityView{Name: l.Identity}
				byName[l.Identity] = one
				found.all = append(found.all, one)
			}
			c := clusterView{Stream: l.Of.Name, Cluster: l.Cluster, Model: l.Of.Model}
			one.Clusters = append(one.Clusters, c)
			found.byCluster[c] = one
		}
		for _, one := range found.all {
			slices.SortFunc(one.Clusters, clusterView.compare)
			for _, c := range one.Clusters {
				one.streams = append(one.streams, c.Stream)
			}
			one.streams = slices.Compact(one.streams)
		}
		slices.SortFunc(found.all, func(a, b *identityView) int {
			return cmp.Or(cmp.Compare(len(b.Clusters), len(a.Clusters)), cmp.Compare(a.Name, b.Name))
		})
		found.all = found.all[:min(len(found.all), mostLabels)]
		return found, nil
	})
	return found
}

// of returns the identity of an item's cluster; nil: it has none.
func (x *identities) of(it *recent.Item) *identityView {
	return x.byCluster[clusterView{Stream: it.Stream, Cluster: cmp.Or(it.Class, it.Label), Model: it.Model}]
}
