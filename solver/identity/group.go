package identity

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/linkage"
)

const (
	// reach is how much less alike than the limit a group may be to a cluster to be grouped anew with it.
	reach = .1
	// stays is how much more alike two clusters count if they are of one identity, so that it holds until
	// something speaks against it.
	stays = .05
	// own is how much less alike two clusters of one stream count: the stream itself holds them for different
	// things, with more to go by, and is only overruled by what other streams see.
	own = .5
	// mostAnew bounds the clusters that are grouped from single ones: beyond it, only what has changed
	// is taken out of its group first.
	mostAnew = 1024
)

// parts returns the clusters that are to be grouped anew: those touched, each with the members of its identity
// and of those near it. Touched clusters near one identity are of one part.
func (l *Linker) parts(touched map[*member]bool) [][]*member {
	order := slices.SortedFunc(maps.Keys(touched), func(a, b *member) int { return a.Compare(b.Key) })
	groups := slices.Clip(l.groups)
	home, completed := map[*member]*group{}, map[*group]bool{}
	for _, m := range order {
		g := m.of
		if g == nil { // as long as it has no group it is one of its own
			g = &group{all: m.camera.all, members: []*member{m}}
			groups = append(groups, g)
		}
		if home[m] = g; !completed[g] {
			l.complete(g)
			completed[g] = true
		}
	}
	part := map[*group]*[]*member{}
	var parts []*[]*member
	for _, m := range order {
		all := m.camera.all
		row := make([]float32, all.space.dimension)
		m.row(row)
		at := all.aheadAt(row)
		own := new([]*member)
		parts = append(parts, own)
		for _, g := range groups {
			near := g.all == all && !(at >= 0 && l.farAhead(g, at)) &&
				float64(kernel.Dot(row, g.sum)) >= (l.settings.Limit-reach)*float64(len(g.members))
			if !near && g != home[m] {
				continue
			}
			switch other := part[g]; {
			case other == nil:
				part[g] = own
				*own = append(*own, g.members...)
			case other != own: // all of that part is of this one
				for of, at := range part {
					if at == other {
						part[of] = own
					}
				}
				*own, *other = append(*own, *other...), nil
			}
		}
	}
	var out [][]*member
	for _, p := range parts {
		if *p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// units returns the clusters of a part one by one or, if they are too many, those that are touched one by one
// and the others by their identities.
func units(all []*member, touched map[*member]bool) (out [][]*member) {
	slices.SortFunc(all, func(a, b *member) int { return a.Compare(b.Key) })
	of := map[*group]int{}
	for _, m := range all {
		at, known := of[m.of]
		switch {
		case len(all) <= mostAnew || touched[m]:
			out = append(out, []*member{m})
		case known:
			out[at] = append(out[at], m)
		default:
			of[m.of] = len(out)
			out = append(out, []*member{m})
		}
	}
	return out
}

// likeness returns the mean likeness of the members of each two units.
func (l *Linker) likeness(units [][]*member) []float32 {
	n, d := len(units), units[0][0].camera.all.space.dimension
	rows, row, alike := make([]float32, n*d), make([]float32, d), make([]float32, n*n)
	for i, unit := range units {
		for _, m := range unit {
			m.row(row)
			kernel.Axpy(1/float32(len(unit)), row, rows[i*d:i*d+d])
		}
	}
	kernel.Gram(alike, rows, n, d)
	kernel.Mirror(alike, n)
	for i, a := range units {
		for j, b := range units[:i] {
			v := alike[i*n+j]
			if a[0].of != nil && a[0].of == b[0].of {
				v += stays
			}
			if share, ok := l.together(a, b); ok {
				v -= own * share
			} else {
				v = float32(math.Inf(-1))
			}
			alike[i*n+j], alike[j*n+i] = v, v
		}
	}
	return alike
}

// together says whether the clusters of two units may be of one identity, and which share of their pairs is of one
// stream.
func (l *Linker) together(a, b []*member) (share float32, ok bool) {
	for _, x := range a {
		for _, y := range b {
			if x.Stream == y.Stream {
				share += 1 / float32(len(a)*len(b))
			}
			xName, yName := l.nameOf(x), l.nameOf(y)
			if xName != "" && yName != "" && xName != yName ||
				x.Stream == y.Stream && (x.apart[y.Cluster.Cluster] || y.apart[x.Cluster.Cluster]) ||
				!l.settings.Transit.allows(x, y) ||
				len(l.rejected) > 0 && l.rejected[pairOf(x.Key, y.Key)] {
				return 0, false
			}
		}
	}
	return share, true
}

// regroup groups clusters anew by average link, and gives the groups the ids of the ones before by largest
// overlap in items, those that people named first.
func (l *Linker) regroup(units [][]*member) {
	n, sizes := len(units), make([]float32, len(units))
	for i, unit := range units {
		sizes[i] = float32(len(unit))
	}
	merges := linkage.Average(l.likeness(units), n, sizes, l.settings.Limit)
	var found [][]*member
	for _, list := range linkage.Groups(n, merges) {
		var all []*member
		for _, i := range list {
			all = append(all, units[i]...)
		}
		found = append(found, all)
	}
	type overlap struct {
		found int
		id    int64
		items int64
		named int // 1: by people
	}
	var overlaps []overlap
	gone := map[*group]bool{}
	for at, group := range found {
		items := map[int64]int64{}
		for _, m := range group {
			if m.of != nil {
				items[m.of.id] += m.Items
				gone[m.of] = true
			}
		}
		for id, n := range items {
			if l.contradicts(group, l.names[id]) {
				continue
			}
			o := overlap{found: at, id: id, items: n}
			if l.names[id] != "" {
				o.named = 1
			}
			overlaps = append(overlaps, o)
		}
	}
	slices.SortFunc(overlaps, func(a, b overlap) int {
		return cmp.Or(
			cmp.Compare(b.named, a.named),
			cmp.Compare(b.items, a.items),
			cmp.Compare(a.id, b.id),
			cmp.Compare(a.found, b.found),
		)
	})
	ids, taken := make([]int64, len(found)), map[int64]bool{}
	for _, o := range overlaps {
		if ids[o.found] == 0 && !taken[o.id] {
			ids[o.found], taken[o.id] = o.id, true
		}
	}
	l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return gone[g] })
	for at, members := range found {
		if ids[at] == 0 {
			ids[at] = l.next
			l.next++
		}
		g := &group{id: ids[at], all: members[0].camera.all, members: members}
		for _, m := range members {
			m.of = g
		}
		l.complete(g)
		l.groups = append(l.groups, g)
	}
	slices.SortFunc(l.groups, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
}

// contradicts says whether people call one of the clusters otherwise than a name that they gave; "": they gave none.
func (l *Linker) contradicts(members []*member, name string) bool {
	return name != "" && slices.ContainsFunc(members, func(m *member) bool { return m.Name != "" && m.Name != name })
}

// bound lets the identities go that are too many, and returns their clusters with their ids.
func (l *Linker) bound() map[*member]int64 {
	out := map[*member]int64{}
	if len(l.groups) <= l.settings.Most {
		return out
	}
	items := func(g *group) (items, seen int64) {
		for _, m := range g.members {
			items, seen = items+m.Items, max(seen, m.Seen)
		}
		return items, seen
	}
	order := slices.SortedFunc(slices.Values(l.groups), func(a, b *group) int {
		aItems, aSeen := items(a)
		bItems, bSeen := items(b)
		return cmp.Or(cmp.Compare(aItems, bItems), cmp.Compare(aSeen, bSeen), cmp.Compare(a.id, b.id))
	})
	for _, g := range order[:len(order)-l.settings.Most] {
		for _, m := range g.members {
			m.of = nil
			out[m] = g.id
		}
	}
	l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return g.members[0].of == nil })
	return out
}
