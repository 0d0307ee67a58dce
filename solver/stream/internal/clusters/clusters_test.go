package clusters

import (
	"slices"
	"testing"
)

// Clusters that are gone leave room for those that come: two that have been in a frame with many others and then with each
// other are told.
func TestClustersThatAreGoneAreNotApart(t *testing.T) {
	var s Set
	meet := func(frame string, ids ...int64) {
		var items []linkedItem
		var members []int
		for _, id := range ids {
			at := slices.IndexFunc(s.list, func(c *Cluster) bool { return c.id == id })
			if at < 0 {
				at, s.list = len(s.list), append(s.list, &Cluster{id: id})
			}
			s.list[at].Seen++
			items, members = append(items, linkedItem{frame: frame}), append(members, at)
		}
		s.together(items, members)
	}
	const one, other = 1, 2
	meet("", one, other)
	for id := range int64(2 * mostTogether) {
		meet("frame", one, id+10)
		meet("another", other, id+10)
		s.Retire(2, func(string) {})
	}
	meet("last", one, other)
	for _, c := range s.list {
		if want := []int64{one + other - c.id}; !slices.Equal(c.apart, want) {
			t.Errorf("cluster %d was with %d clusters, not with %v alone", c.id, len(c.apart), want)
		}
	}
}
