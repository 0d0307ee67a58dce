// Package identity finds which clusters of several streams are the same thing: a visitor whom one camera calls
// cluster-17 and another cluster-3 gets one identity.
//
// A Linker is told of each cluster when it has changed: its mean, and what it must not be joined with. It
// compares clusters after subtracting what all clusters of their stream have in common, which is the camera
// and not the thing, and groups them by average link. An identity keeps its id when clusters join, leave or
// change.
//
//	linker := identity.New(identity.Defaults())
//	changes := linker.Update(clusters, nil)  // which clusters got another identity
//	id := linker.Of(clusters[0].Key)
//
// The package uses no Kafka, no clock and no goroutine. What it answers is a function of the calls in their
// order.
package identity

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Settings of a Linker.
type Settings struct {
	// Limit is the mean cosine of two groups of clusters from which on they are one identity, after
	// centring.
	Limit float64
	// Most identities are kept; beyond them those of least items go, the ones unseen for longest first.
	Most int
	// Transit is what is known of the ways between streams.
	Transit Transit
}

// Defaults returns the settings that the stage uses.
func Defaults() Settings { return Settings{Limit: .6, Most: 10_000} }

// Key is a cluster of a stream; those of two models are two. Clusters of other models are never compared.
type Key struct{ Stream, Cluster, Model string }

// Compare orders clusters by stream, name and model.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Stream, o.Stream), cmp.Compare(k.Cluster, o.Cluster), cmp.Compare(k.Model, o.Model))
}

// Cluster is what is known of a cluster.
type Cluster struct {
	Key
	Mean   []float32 // of its items at length 1; those of other dimensions are never compared
	Items  int64
	Seen   int64      // when, in any unit that grows
	Visits [][2]int64 // from and to, each without a pause, in the unit of Transit; without any Transit says nothing of it
	Name   string     // that people gave it; "": none. Clusters of different names are never joined
	Apart  []string   // clusters of its stream that it was seen in one frame with, beside those known before
}

// Change is a cluster that has another identity than before; 0: none.
type Change struct {
	Key
	Before, After int64
}

// Linker groups clusters. One goroutine uses it at a time.
type Linker struct {
	settings Settings
	next     int64
	clusters map[Key]*member
	groups   []*group // by their ids
	spaces   map[space]*common
	rejected map[[2]Key]bool
	names    map[int64]string // that people gave to identities
	touched  map[*member]bool // whose identity the next Update finds again
}

// member is a cluster of a group.
type member struct {
	Cluster // without its mean
	mean    []int16
	camera  *camera
	of      *group // nil: of none
	apart   map[string]bool
}

// group is an identity.
type group struct {
	id      int64
	all     *common
	members []*member // by their keys
	sum     []float32 // of their centred means
	ahead   []float32 // its products with the rows ahead; nil: the sum is another one since
}

// space is what means must share to be compared.
type space struct {
	model     string
	dimension int
}

// New returns a Linker that knows no cluster.
func New(settings Settings) *Linker {
	return &Linker{
		settings: settings, next: 1, clusters: map[Key]*member{}, spaces: map[space]*common{},
		rejected: map[[2]Key]bool{}, names: map[int64]string{}, touched: map[*member]bool{},
	}
}

// Of returns the identity of a cluster; 0: none.
func (l *Linker) Of(key Key) int64 {
	if m := l.clusters[key]; m != nil && m.of != nil {
		return m.of.id
	}
	return 0
}

// Members returns the clusters of an identity, by stream and name; nil: there is no such identity.
func (l *Linker) Members(id int64) []Key {
	at, found := l.find(id)
	if !found {
		return nil
	}
	keys := make([]Key, len(l.groups[at].members))
	for i, m := range l.groups[at].members {
		keys[i] = m.Key
	}
	return keys
}

func (l *Linker) find(id int64) (at int, found bool) {
	return slices.BinarySearchFunc(l.groups, id, func(g *group, id int64) int { return cmp.Compare(g.id, id) })
}

// Reject says that two clusters are not the same thing, whatever their model; they are never of one identity from the next
// Update on.
func (l *Linker) Reject(a, b Key) {
	l.rejected[pairOf(a, b)] = true
	l.touchModels(a, b)
}

// Allow takes a Reject back.
func (l *Linker) Allow(a, b Key) {
	delete(l.rejected, pairOf(a, b))
	l.touchModels(a, b)
}

func (l *Linker) touchModels(keys ...Key) {
	for at := range l.spaces {
		for _, key := range keys {
			key.Model = at.model
			l.touch(key)
		}
	}
}

// Name gives a cluster the name that people gave it; "": none. It counts from the next Update on.
func (l *Linker) Name(key Key, name string) {
	if m := l.clusters[key]; m != nil && m.Name != name {
		m.Name = name
		l.touch(key)
	}
}

// Call gives an identity the name that people gave it; "": none. It counts for those of its clusters that have none of
// their own, from the next Update on, and the identity keeps its id whatever it is joined with.
func (l *Linker) Call(id int64, name string) {
	if l.names[id] == name {
		return
	}
	if l.names[id] = name; name == "" {
		delete(l.names, id)
	}
	l.touch(l.Members(id)...)
}

// From makes the ids of new identities at least next.
func (l *Linker) From(next int64) { l.next = max(l.next, next) }

// Next is the id of the next new identity.
func (l *Linker) Next() int64 { return l.next }

func (l *Linker) touch(keys ...Key) {
	for _, key := range keys {
		if m := l.clusters[key]; m != nil {
			l.touched[m] = true
		}
	}
}

// nameOf is the name that people gave to a cluster or to its identity; "": none.
func (l *Linker) nameOf(m *member) string {
	if m.Name == "" && m.of != nil {
		return l.names[m.of.id]
	}
	return m.Name
}

func pairOf(a, b Key) [2]Key {
	a.Model, b.Model = "", ""
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return [2]Key{a, b}
}

// Restore gives clusters the identities that they had, without joining or parting any, as a process does that
// takes over; the next Update parts those of which something said before does not allow that they are one. Identities are
// above 0. Of clusters of two models with one identity, only those of the first get it.
func (l *Linker) Restore(clusters []Cluster, identities []int64) {
	groups := map[int64]*group{}
	for i := range clusters {
		m := l.put(&clusters[i])
		id := identities[i]
		if groups[id] == nil {
			groups[id] = &group{id: id, all: m.camera.all}
			l.groups = append(l.groups, groups[id])
		}
		if g := groups[id]; g.all == m.camera.all {
			m.of = g
			g.members = append(g.members, m)
		}
		l.next = max(l.next, id+1)
	}
	slices.SortFunc(l.groups, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
	l.recentre()
	for _, g := range l.groups {
		l.complete(g)
		for i, a := range g.members {
			for _, b := range g.members[:i] {
				if _, ok := l.together([]*member{a}, []*member{b}); !ok {
					l.touch(a.Key, b.Key)
				}
			}
		}
	}
}

// Update takes in clusters that are new or have changed, and those that have ended, and returns the clusters
// whose identity that changes, by their keys. The slices of the clusters are not kept.
func (l *Linker) Update(changed []Cluster, ended []Key) []Change {
	before := map[Key]int64{} // the identities of all that may get another
	remember := func(key Key, id int64) {
		if _, known := before[key]; !known {
			before[key] = id
		}
	}
	for _, key := range ended {
		if m := l.clusters[key]; m != nil {
			remember(key, l.Of(key))
			l.drop(m)
		}
	}
	for i := range changed {
		remember(changed[i].Key, l.Of(changed[i].Key))
		l.put(&changed[i])
	}
	for i := range changed {
		l.touch(changed[i].Key) // the last of a key counts
	}
	touched := l.touched
	l.touched = map[*member]bool{}
	for _, m := range l.recentre() {
		touched[m] = true
	}
	for _, part := range l.parts(touched) {
		for _, m := range part {
			remember(m.Key, l.Of(m.Key))
		}
		l.regroup(units(part, touched))
	}
	for m, id := range l.bound() {
		remember(m.Key, id)
	}
	var changes []Change
	for key, was := range before {
		if id := l.Of(key); id != was {
			changes = append(changes, Change{key, was, id})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return a.Compare(b.Key) })
	return changes
}

// put stores what is known of a cluster.
func (l *Linker) put(c *Cluster) *member {
	at := space{c.Model, len(c.Mean)}
	m := l.clusters[c.Key]
	if m != nil && m.camera.all.space != at { // of another embedder: another cluster
		l.drop(m)
		m = nil
	}
	if m == nil {
		m = &member{camera: l.camera(c.Stream, at), apart: map[string]bool{}}
		l.clusters[c.Key] = m
		m.camera.members = append(m.camera.members, m)
	}
	m.Cluster = *c
	m.Mean, m.Cluster.Apart, m.Visits = nil, nil, slices.Clone(c.Visits)
	m.mean = vector.Shorts(nil, c.Mean, 1)
	for _, other := range c.Apart {
		m.apart[other] = true
	}
	return m
}

// drop forgets a cluster.
func (l *Linker) drop(m *member) {
	delete(l.clusters, m.Key)
	delete(l.touched, m)
	others := func(list []*member) []*member {
		return slices.DeleteFunc(list, func(o *member) bool { return o == m })
	}
	m.camera.members = others(m.camera.members)
	if m.of == nil {
		return
	}
	if m.of.members = others(m.of.members); len(m.of.members) > 0 {
		l.complete(m.of)
	} else if at, found := l.find(m.of.id); found {
		l.groups = slices.Delete(l.groups, at, at+1)
	}
}

// complete computes what follows from the members of a group.
func (l *Linker) complete(g *group) {
	slices.SortFunc(g.members, func(a, b *member) int { return a.Compare(b.Key) })
	g.sum, g.ahead = make([]float32, g.all.space.dimension), nil
	row := make([]float32, len(g.sum))
	for _, m := range g.members {
		m.row(row)
		kernel.Axpy(1, row, g.sum)
	}
}
