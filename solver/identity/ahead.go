package identity

import (
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

const (
	// Block is how many clusters Ahead compares.
	Block = 32
	// rounding is more than a product ahead, of a cluster with one of a group, can differ from the one that decides.
	rounding = .01
)

// Ahead compares clusters that the next Updates take in with all identities; of each model the first Block of them. It
// changes no answer: one Update after the other reads the sums of all identities, Ahead reads them once for all.
func (l *Linker) Ahead(clusters []Cluster) {
	for _, all := range l.spaces {
		all.ahead = all.ahead[:0]
	}
	for i := range clusters {
		c := &clusters[i]
		all := l.spaces[space{c.Model, len(c.Mean)}]
		if all == nil || all.cameras[c.Stream] == nil || len(all.ahead) >= Block*len(c.Mean) {
			continue
		}
		row := make([]float32, len(c.Mean))
		(&member{mean: vector.Shorts(nil, c.Mean, 1), camera: all.cameras[c.Stream]}).row(row)
		all.ahead = append(all.ahead, row...)
	}
	for _, g := range l.groups {
		n := len(g.all.ahead) / max(1, len(g.sum))
		g.ahead = vector.Resize(g.ahead, n)
		kernel.Products(g.ahead, g.sum, g.all.ahead, 1, n, len(g.sum))
	}
}

// farAhead says that a group is not near the row of that number, as far as is known ahead.
func (l *Linker) farAhead(g *group, at int) bool {
	return g.ahead != nil && float64(g.ahead[at]) < (l.settings.Limit-reach-rounding)*float64(len(g.members))
}

// aheadAt returns which of the rows that were compared ahead is this one; -1: none.
func (all *common) aheadAt(row []float32) int {
	for at := 0; at*len(row) < len(all.ahead); at++ {
		if slices.Equal(all.ahead[at*len(row):][:len(row)], row) {
			return at
		}
	}
	return -1
}
