package link

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/identity"
)

// linking says which clusters are one thing. What it says are names of the labels topic: of clusters into identities,
// and of identities into the names that people gave to one of their clusters. An identity is told once it has two
// clusters, and from then on until none is left. One goroutine uses it; it knows no clock, and what it says is a
// function of the calls in their order.
type linking struct {
	group     string // of the stage
	linker    *identity.Linker
	clusters  map[identity.Key]*record.Cluster // without their means
	told      map[int64]bool                   // identities
	people    people
	said      map[string]string                // what the labels topic has of the link, by name
	wanted    map[string]string                // what it should have, as far as that may have changed; "": nothing
	read      int64                            // AsOf of the last record of a cluster
	corrected map[identity.Key]*record.Cluster // whose records are to be written; nil: deleted. See update
	written   map[identity.Key]int64           // AsOf of the last record that was written of each and is not read back yet
	takenBack bool                             // what is reserved
	seen      sightings
}

// reserved is the name by which ids that may have been given are told, this many at once: none is given twice.
const (
	reserved = "identity-next"
	atOnce   = 1000
)

func newLinking(group string, most int, transit identity.Transit) *linking {
	settings := identity.Defaults()
	settings.Most, settings.Transit = most, transit
	return &linking{
		group: group, linker: identity.New(settings), clusters: map[identity.Key]*record.Cluster{}, told: map[int64]bool{},
		said: map[string]string{}, wanted: map[string]string{}, corrected: map[identity.Key]*record.Cluster{},
		written: map[identity.Key]int64{}, seen: sightings{last: map[int64]map[string]time.Time{}},
	}
}

// name returns how the labels topic calls a cluster.
func (l *linking) name(key identity.Key) string {
	return record.InGroup(l.group, record.ClusterName(record.StreamID{Name: key.Stream, Model: key.Model}, key.Cluster))
}

// identity returns the id of an identity of this link; 0: the name is none.
func (l *linking) identity(name string) int64 {
	group, id := record.IdentityOf(name)
	if group != l.group {
		return 0
	}
	return id
}

func (l *linking) reserved() string { return record.InGroup(l.group, reserved) }

// restore begins with what an earlier link left: the clusters that it took in, those published since, and the names in
// force, its own and those of people. Clusters that it named keep their identities. Whether it told where those published
// since were seen is not known: that is told again.
func (l *linking) restore(known, since []*record.Cluster, said, names []record.Name, rejections []record.NotThis) {
	for i := range said {
		n := &said[i]
		l.linker.From(l.identity(n.Into) + 1)
		if l.said[n.Name] = n.Into; n.Name != l.reserved() {
			l.want(n.Name, "") // unless it is told below
		}
	}
	l.say(names, rejections)
	var clusters []identity.Cluster
	var ids []int64
	restored := map[identity.Key]bool{}
	next := l.linker.Next()
	for i, c := range slices.Concat(known, since) {
		key := keyOf(c)
		if l.read = max(l.read, c.AsOf); c.ByLink && i >= len(known) {
			l.written[key] = max(l.written[key], c.AsOf)
		}
		id := l.identity(l.said[l.name(key)])
		switch {
		case restored[key] || c.Mean == nil, id == 0 && i >= len(known):
			continue
		case id == 0: // it was alone
			id = next
			next++
		default:
			if l.told[id] = true; i < len(known) {
				l.seen.saw(id, c)
			}
		}
		clusters, ids = append(clusters, l.take(c)), append(ids, id)
		restored[key] = true
	}
	l.linker.Restore(clusters, ids)
	for id := range l.told {
		l.tell(id)
	}
	l.follow(nil, nil)
	l.update(since)
}

// topicHas takes in the names of the link that the labels topic has: others than those that were written if somebody
// has taken one back, or if an earlier link that did not know of its end wrote some.
func (l *linking) topicHas(said []record.Name) {
	before := l.said
	l.said = make(map[string]string, len(said))
	for i := range said {
		l.said[said[i].Name] = said[i].Into
	}
	for _, all := range []map[string]string{before, l.said} {
		for name := range all {
			if before[name] == l.said[name] {
				continue
			}
			if name == l.reserved() {
				l.takenBack = l.said[name] == ""
				continue
			}
			l.want(name, "") // unless it is told
			l.tell(l.concerns(name))
		}
	}
}

// concerns returns the identity that a name of the link is about; 0: none.
func (l *linking) concerns(name string) int64 {
	if id := l.identity(name); id != 0 {
		return id
	}
	cluster, _ := strings.CutPrefix(name, record.InGroup(l.group, ""))
	return l.linker.Of(keyIn(cluster))
}

// keyIn returns the cluster of a name by ClusterName.
func keyIn(name string) identity.Key {
	of, cluster, ok := record.ClusterOf(name)
	if !ok {
		return identity.Key{}
	}
	return identity.Key{Stream: of.Name, Cluster: cluster, Model: of.Model}
}

func keyOf(c *record.Cluster) identity.Key {
	return identity.Key{Stream: c.Stream, Cluster: c.Cluster, Model: c.Model}
}

// take keeps a cluster, and returns it as the linker wants it.
func (l *linking) take(c *record.Cluster) identity.Cluster {
	key := keyOf(c)
	one := identity.Cluster{
		Key: key, Mean: c.Mean, Items: c.Items, Seen: c.Seen.Unix(), Name: l.people.nameOf(c), Apart: c.Apart, Visits: c.Visits,
	}
	kept := *c
	kept.Mean, kept.Apart, kept.Visits = nil, nil, nil
	l.clusters[key] = &kept
	return one
}

// update takes in clusters, in the order of their records; of one that is gone only the key is set. Each is taken in
// alone: how many come together depends on the brokers. Those beyond the bound are forgotten until they change again. What
// is gone mostly is not known: a stream that begins ends all that it had, and tombstones that were written here come back.
//
// The last record of a cluster is what the topic keeps. One that is written here comes after what its stream wrote
// meanwhile: if it did, what the stream wrote is written again.
func (l *linking) update(list []*record.Cluster) {
	for i, c := range list {
		if i%identity.Block == 0 {
			l.ahead(list[i:min(i+identity.Block, len(list))])
		}
		l.read = max(l.read, c.AsOf)
		if c.Cluster == record.AllClusters {
			l.end(record.StreamID{Name: c.Stream, Model: c.Model})
			continue
		}
		key := keyOf(c)
		last, waits := l.written[key]
		known := l.clusters[key]
		if c.AsOf == last {
			delete(l.written, key)
		}
		_, corrected := l.corrected[key]
		if c.AsOf < last || known != nil && c.AsOf < known.AsOf || c.ByLink && corrected {
			continue // what came later is known
		}
		if delete(l.corrected, key); waits && c.AsOf > last {
			l.corrected[key] = c
			if c.Mean == nil {
				l.corrected[key] = nil
			}
		}
		if c.Mean != nil {
			l.follow([]identity.Cluster{l.take(c)}, nil)
		} else if known != nil {
			delete(l.clusters, key)
			l.follow(nil, []identity.Key{key})
		}
	}
}

// ahead has the linker compare clusters that are taken in next, all at once.
func (l *linking) ahead(list []*record.Cluster) {
	if len(list) < 2 {
		return
	}
	var next []identity.Cluster
	for _, c := range list {
		if c.Mean != nil {
			next = append(next, identity.Cluster{Key: keyOf(c), Mean: c.Mean})
		}
	}
	l.linker.Ahead(next)
}

// end forgets the clusters of a stream, and has their records deleted.
func (l *linking) end(of record.StreamID) {
	var ended []identity.Key
	for key := range l.clusters {
		if key.Stream == of.Name && key.Model == of.Model {
			ended = append(ended, key)
		}
	}
	slices.SortFunc(ended, identity.Key.Compare)
	for _, key := range ended {
		delete(l.clusters, key)
		l.corrected[key] = nil
	}
	if len(ended) > 0 {
		l.follow(nil, ended)
	}
}

// say takes in all names and rejections in force.
func (l *linking) say(names []record.Name, rejections []record.NotThis) {
	before := l.people
	l.people = newPeople(names, rejections)
	for pair := range before.rejected {
		if !l.people.rejected[pair] {
			l.linker.Allow(pair[0], pair[1])
		}
	}
	for pair := range l.people.rejected {
		if !before.rejected[pair] {
			l.linker.Reject(pair[0], pair[1])
		}
	}
	named := map[int64]bool{} // identities whose names may have changed
	for key, c := range l.clusters {
		if name := l.people.nameOf(c); name != before.nameOf(c) || l.people.tells(c) != before.tells(c) {
			l.linker.Name(key, name)
			named[l.linker.Of(key)] = true
		}
	}
	for _, all := range []map[string]string{before.called, l.people.called} {
		for name := range all {
			if id := l.identity(name); id != 0 {
				call := l.people.called[name]
				if call == name { // it is not in force
					call = ""
				}
				l.linker.Call(id, call)
			}
			named[l.concerns(name)] = true
		}
	}
	l.follow(nil, nil)
	for id := range named {
		l.tell(id)
	}
}

// follow updates the linker, and says what follows from clusters that have another identity.
func (l *linking) follow(changed []identity.Cluster, ended []identity.Key) {
	changes := l.linker.Update(changed, ended)
	for i := range changed { // its label may be another, and one that is at once beyond the bound is no change
		changes = append(changes, identity.Change{Key: changed[i].Key, After: l.linker.Of(changed[i].Key)})
	}
	ids := map[int64]bool{}
	var beyond []identity.Key
	for _, c := range changes {
		ids[c.Before], ids[c.After] = true, true
		if c.After != 0 {
			continue
		}
		l.want(l.name(c.Key), "")
		if l.clusters[c.Key] != nil {
			delete(l.clusters, c.Key)
			l.corrected[c.Key] = nil
			beyond = append(beyond, c.Key)
		}
	}
	l.linker.Update(nil, beyond) // they are of no identity: nothing else changes
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		l.tell(id)
	}
}

// tell says what there is to be said of an identity; 0: none.
func (l *linking) tell(id int64) {
	members := l.linker.Members(id)
	if len(members) > 1 {
		l.told[id] = true
	} else if len(members) == 0 {
		delete(l.told, id)
		delete(l.seen.last, id)
	}
	if id == 0 {
		return
	}
	name, into := "", ""
	var clusters []*record.Cluster
	if l.told[id] {
		into = record.IdentityName(l.group, id)
	}
	for _, key := range members {
		c := l.clusters[key]
		if l.people.tells(c) {
			name = l.people.nameOf(c) // all that have one have the same
		}
		clusters = append(clusters, c)
		l.want(l.name(key), into)
	}
	if !l.told[id] {
		l.want(record.IdentityName(l.group, id), "")
		return
	}
	l.want(into, name)
	if call := l.people.called[into]; call != "" && call != into {
		name = call
	}
	l.seen.tell(id, into, name, clusters)
}

// want notes what a name should be called; "": nothing.
func (l *linking) want(name, into string) { l.wanted[name] = into }

// unsaid returns the records that say what has changed, for the topics of labels and clusters, and the sightings that
// follow. Once they are written said is called.
func (l *linking) unsaid(labels, clusters string) (records []record.Out, sightings []record.Sighting, said func()) {
	next := map[string]string{}
	for name, into := range l.wanted {
		if l.people.called[name] == "" && into != l.said[name] {
			next[name] = into
		}
	}
	say := func(name, into string) {
		if into == "" {
			records = append(records, record.Forget(labels, record.NameKey(name, "")))
		} else {
			records = append(records, record.NameRecord(labels, &record.Name{Name: name, Into: into, By: record.ByLink}))
		}
	}
	order := slices.Sorted(maps.Keys(next))
	told, reserved := l.identity(l.said[l.reserved()]), l.reserved()
	if id := l.linker.Next(); len(next) > 0 && id > told || told == 0 && (l.takenBack || len(l.told) > 0) {
		next[reserved] = record.IdentityName(l.group, id+atOnce)
		order = slices.Insert(order, 0, reserved) // before those that it tells of
	}
	for _, name := range order {
		say(name, next[name])
	}
	asOf := l.read
	for _, key := range slices.SortedFunc(maps.Keys(l.corrected), identity.Key.Compare) {
		out := record.NoCluster(clusters, record.StreamID{Name: key.Stream, Model: key.Model}, key.Cluster)
		if c := l.corrected[key]; c != nil {
			out = c.Record(clusters)
		}
		records = append(records, record.FromLink(out, asOf))
	}
	return records, l.seen.untold, func() {
		for name, into := range next {
			if l.said[name] = into; into == "" {
				delete(l.said, name)
			}
		}
		for key := range l.corrected {
			l.written[key] = asOf
		}
		l.takenBack = false
		clear(l.wanted)
		clear(l.corrected)
		l.seen.untold = nil
	}
}
