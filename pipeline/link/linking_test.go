package link

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/identity"
)

var histories = flag.Int("histories", 300, "random histories of TestHistories")

// world is what the topics hold, without Kafka, and the process that links.
type world struct {
	t        *testing.T
	random   *rand.Rand
	link     *linking
	things   [][]float32
	clusters map[string]*record.Cluster // the topic of clusters
	since    []*record.Cluster          // that the link has not taken in
	end      int64                      // of the topic of clusters
	said     map[string]string          // the link's names
	names    map[string]record.Name
	rejected map[string]record.NotThis
	told     map[string]bool // identities that once were said
	gone     map[string]bool // of these, those that are no more
	seconds  int64
	seen     map[string]map[string]told // of each identity in each stream
	begins   bool                       // the link has just begun, and may tell again what was told
	links    int                        // that there have been
	log      []string
}

// told is what was told last of an identity in a stream.
type told struct {
	at   time.Time
	link int
}

const (
	streams = 4
	most    = 12
)

// ways are those between the streams of the worlds, in milliseconds.
var ways = identity.Transit{
	{"cam-0", "cam-1"}: {Least: 15_000}, {"cam-1", "cam-2"}: {Overlap: true}, {"cam-2", "cam-3"}: {Least: 5000},
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), link: newLinking("shop", most, ways), clusters: map[string]*record.Cluster{},
		said: map[string]string{}, names: map[string]record.Name{}, rejected: map[string]record.NotThis{},
		told: map[string]bool{}, gone: map[string]bool{}, seen: map[string]map[string]told{},
	}
	for range 6 {
		v := make([]float32, 8)
		for i := range v {
			v[i] = float32(w.random.NormFloat64())
		}
		w.things = append(w.things, v)
	}
	w.start(w.link)
	return w
}

func (w *world) key() string {
	if len(w.clusters) == 0 {
		return "cam-0/cluster-0"
	}
	return slices.Sorted(maps.Keys(w.clusters))[w.random.IntN(len(w.clusters))]
}

func (w *world) publish() {
	thing := w.random.IntN(len(w.things))
	w.seconds += w.random.Int64N(40)
	c := &record.Cluster{
		Stream:  fmt.Sprintf("cam-%d", w.random.IntN(streams)),
		Cluster: fmt.Sprintf("cluster-%d", thing+len(w.things)*w.random.IntN(2)),
		Items:   1 + w.random.Int64N(40), Seen: time.Unix(w.seconds, 0),
	}
	v := slices.Clone(w.things[thing])
	for i := range v {
		v[i] += .2 * float32(w.random.NormFloat64())
	}
	if w.random.IntN(10) == 0 { // it has become another thing
		copy(v, w.things[w.random.IntN(len(w.things))])
	}
	c.Mean = v
	if w.random.IntN(12) == 0 {
		c.Label = []string{"anna", "ben"}[w.random.IntN(2)]
	}
	if known := w.clusters[c.Name()]; known != nil {
		c.Visits = slices.Clone(known.Visits)
	}
	c.Visits = append(c.Visits, record.Visit{1000 * w.seconds, 1000 * (w.seconds + w.random.Int64N(3))})
	c.Visits = c.Visits[max(0, len(c.Visits)-record.MostVisits):]
	if w.random.IntN(8) == 0 {
		c.Apart = []string{fmt.Sprintf("cluster-%d", w.random.IntN(2*len(w.things)))}
	}
	w.put(c)
}

func (w *world) put(c *record.Cluster) {
	if !c.ByLink {
		c.AsOf = w.end
	}
	w.end++
	w.since = append(w.since, c)
	if c.Cluster == record.AllClusters {
		return
	}
	key := c.Name()
	if w.clusters[key] = c; c.Mean == nil {
		delete(w.clusters, key)
	}
}

// step changes something at random.
func (w *world) step() {
	what := "published"
	switch n := w.random.IntN(23); n {
	case 0:
		what = "gone"
		key := keyIn(w.key())
		w.put(&record.Cluster{Stream: key.Stream, Cluster: key.Cluster})
	case 1, 2, 3:
		key := keyIn(w.key())
		n := record.Name{Name: key.Cluster, Stream: key.Stream, Into: []string{"anna", "ben", "kim"}[w.random.IntN(3)], By: "kim"}
		if w.random.IntN(3) == 0 && len(w.said) > 0 {
			n.Stream, n.Name = "", w.said[slices.Sorted(maps.Keys(w.said))[w.random.IntN(len(w.said))]]
		}
		if n.Name != n.Into {
			w.names[record.NameKey(n.Name, n.Stream)] = n
			delete(w.said, n.Name) // where it was the link's, the key is a person's now
		}
		what = fmt.Sprint("named ", n)
	case 4:
		for key := range w.names {
			what = "undone " + key
			delete(w.names, key)
			break
		}
	case 5, 6:
		a, b := w.key(), w.key()
		w.rejected[a+b] = record.NotThis{ItemID: a, Not: []string{b}}
		what = "rejected " + a + " " + b
	case 7:
		clear(w.rejected)
		what = "rejections undone"
	case 8: // somebody takes back a name of the link's
		for name := range w.said {
			what = "taken back " + name
			delete(w.said, name)
			break
		}
	case 9:
		what = "killed"
		w.start(newLinking("shop", most, ways))
	case 10: // an earlier link does not know of its end
		old := w.link
		w.start(newLinking("shop", most, ways))
		w.publish()
		old.update(w.since)
		w.write(old)
		what = "an earlier link wrote"
	case 11:
		what = "a stream is forgotten"
		c := keyIn(w.key())
		w.put(&record.Cluster{Stream: c.Stream, Cluster: record.AllClusters})
		w.publish()
		w.follow()
		w.follow()
	case 12, 13:
		what = "rebalanced"
		for range 1 + w.random.IntN(3) { // to other processes and back
			what += w.rebalance()
		}
	default:
		for range 1 + w.random.IntN(4) {
			w.publish()
		}
	}
	w.log = append(w.log, what)
	w.follow()
	w.check()
}

// rebalance has the link take in a part of what there is, and then another process link, whose claim may come before the
// commit: it is refused.
func (w *world) rebalance() (what string) {
	for range w.random.IntN(4) {
		w.publish()
	}
	if len(w.clusters) > 0 && w.random.IntN(3) == 0 {
		again := *w.clusters[w.key()]
		again.ByLink = false
		w.put(&again) // the new owner of the stream's partition publishes what was published
	}
	some := w.random.IntN(len(w.since) + 1)
	w.takeIn(w.since[:some])
	if what = ", refused"; w.random.IntN(2) == 0 {
		what = ", in time"
		w.since = w.since[some:]
		w.write(w.link)
	}
	w.start(newLinking("shop", most, ways))
	return what
}

func (w *world) inForce() (said, names []record.Name, rejections []record.NotThis) {
	for name, into := range w.said {
		said = append(said, record.Name{Name: name, Into: into, By: record.ByLink})
	}
	for _, key := range slices.Sorted(maps.Keys(w.names)) {
		names = append(names, w.names[key])
	}
	return said, names, slices.Collect(maps.Values(w.rejected))
}

// start begins with what the topics hold; what the process before had done is done.
func (w *world) start(l *linking) {
	w.link = l
	late := map[string]bool{}
	for _, c := range w.since {
		late[c.Name()] = true
	}
	var known []*record.Cluster
	for _, key := range slices.Sorted(maps.Keys(w.clusters)) {
		if !late[key] {
			known = append(known, w.clusters[key])
		}
	}
	said, names, rejections := w.inForce()
	before := maps.Clone(w.said)
	l.restore(known, w.since, said, names, rejections)
	quiet := len(w.since) == 0
	w.since = nil
	w.begins = true
	w.links++
	w.write(l)
	w.begins = false
	for name, into := range before {
		if quiet && name != w.link.reserved() && w.said[name] != into {
			w.fail("%s was %s before the process was killed, and is %q", name, into, w.said[name])
		}
	}
}

func (w *world) follow() {
	w.takeIn(w.since)
	w.since = nil
	w.write(w.link)
}

func (w *world) takeIn(clusters []*record.Cluster) {
	w.link.update(clusters)
	said, names, rejections := w.inForce()
	w.link.topicHas(said)
	w.link.say(names, rejections)
}

// write writes what a link has to say.
func (w *world) write(l *linking) {
	records, sightings, said := l.unsaid("labels", "clusters")
	for i := range sightings {
		if l == w.link {
			w.sees(&sightings[i])
		}
	}
	for i := range records {
		r := &records[i]
		key := string(r.Key)
		name, isName := strings.CutPrefix(key, "name:")
		switch {
		case !isName:
			c, err := record.DecodeCluster(&record.Raw{Offset: w.end, Key: r.Key, Value: r.Value, Headers: r.Headers})
			if err != nil || r.Topic != "clusters" || !c.ByLink {
				w.fail("%s: %v", key, err)
			}
			w.put(c)
		case len(r.Value) == 0:
			delete(w.said, name)
			delete(w.names, key)
		default:
			d, err := record.NewDecoder(record.Options{})
			if err != nil {
				w.t.Fatal(err)
			}
			label, err := d.DecodeLabel(w.t.Context(), &record.Raw{Key: r.Key, Value: r.Value})
			if err != nil || label.Name == nil || !ofShop(label.Name) {
				w.fail("%s: %v", r.Value, err)
			}
			w.said[name] = label.Name.Into
			delete(w.names, key)
		}
	}
	said()
}

// sees compares what is told of an identity with what was told of it.
func (w *world) sees(x *record.Sighting) {
	w.t.Helper()
	last, known := w.seen[x.Identity][x.Stream]
	isNew := x.Events[0] == record.IdentityNew+" "+x.Identity
	if isNew == (w.seen[x.Identity] != nil) && !w.begins || isNew && x.Gap != nil || (x.Gap != nil) != (x.Before != "") {
		w.fail("%+v, which was seen before in %v", x, w.seen[x.Identity])
	}
	if known && x.Time.Sub(last.at) < time.Minute && last.link == w.links {
		w.fail("%+v was seen in the stream at %s", x, last.at)
	}
	if w.seen[x.Identity] == nil {
		w.seen[x.Identity] = map[string]told{}
	}
	w.seen[x.Identity][x.Stream] = told{x.Time, w.links}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("after %q: %s", w.log, fmt.Sprintf(format, args...))
}

// check compares what is said with the rules.
func (w *world) check() {
	w.t.Helper()
	_, names, _ := w.inForce()
	people := newPeople(names, nil)
	members, called := map[string][]identity.Key{}, map[string]map[string]bool{}
	for name, into := range w.said {
		if name == w.link.reserved() || w.link.identity(name) != 0 {
			continue
		}
		c := w.clusters[strings.TrimPrefix(name, "shop/")]
		if c == nil {
			w.fail("%s, which is gone, is %s", name, into)
		}
		members[into] = append(members[into], identity.Key{Stream: c.Stream, Cluster: c.Cluster})
		if called[into] == nil {
			called[into] = map[string]bool{}
		}
		if given := people.nameOf(c); given != "" {
			called[into][given] = true
		}
	}
	for id, list := range members {
		if given := people.called[id]; given != "" {
			called[id][given] = true
		}
		if len(called[id]) > 1 {
			w.fail("%s of %v is called %v", id, list, called[id])
		}
		for name := range called[id] {
			if said := w.said[id]; said != name && people.called[id] == "" {
				w.fail("%s is %q, and its clusters are called %s", id, said, name)
			}
		}
		if w.gone[id] {
			w.fail("%s comes back", id)
		}
		for _, n := range w.rejected {
			if a, b := keyIn(n.ItemID), keyIn(n.Not[0]); a != b && slices.Contains(list, a) && slices.Contains(list, b) {
				w.fail("%v and %v were said to differ, and are %s", a, b, id)
			}
		}
		for _, key := range list {
			for _, other := range w.clusters[record.ClusterName(record.StreamID{Name: key.Stream}, key.Cluster)].Apart {
				if other != key.Cluster && slices.Contains(list, identity.Key{Stream: key.Stream, Cluster: other}) {
					w.fail("%v and %s were in one frame, and are %s", key, other, id)
				}
			}
		}
		for i, a := range list {
			for _, b := range list[:i] {
				if !w.possible(a, b) {
					w.fail("%v and %v, which is too fast for one thing, are %s", a, b, id)
				}
			}
		}
		for _, key := range list {
			if _, told := w.seen[id][key.Stream]; !told {
				w.fail("nobody is told that %s is seen in %s", id, key.Stream)
			}
		}
		if n := w.link.identity(id); n == 0 || n > w.link.identity(w.said[w.link.reserved()]) {
			w.fail("%s is beyond the reserved %s", id, w.said[w.link.reserved()])
		}
	}
	for name := range w.said {
		if w.link.identity(name) != 0 && members[name] == nil {
			w.fail("%s, which has no clusters, is %s", name, w.said[name])
		}
	}
	if len(members) > most || len(w.link.clusters) > len(w.clusters) {
		w.fail("%d identities, %d clusters of %d", len(members), len(w.link.clusters), len(w.clusters))
	}
	for id := range w.told {
		w.gone[id] = w.link.linker.Members(w.link.identity(id)) == nil
	}
	for id := range members {
		w.told[id] = true
	}
}

// possible says whether one thing can have made the last visits of two clusters.
func (w *world) possible(a, b identity.Key) bool {
	way := ways[[2]string{min(a.Stream, b.Stream), max(a.Stream, b.Stream)}]
	visits := func(key identity.Key) []record.Visit {
		return w.clusters[record.ClusterName(record.StreamID{Name: key.Stream}, key.Cluster)].Visits
	}
	for _, x := range visits(a) {
		for _, y := range visits(b) {
			if way.Least > 0 && x[0]-y[1] < way.Least && y[0]-x[1] < way.Least {
				return false
			}
		}
	}
	return true
}

// In any order of clusters, names of people, rejections, undoing, kills, rebalances and late writes of an earlier link no two
// names of people are one identity, nothing that was said to differ or was seen too fast is, a kill changes no identity, and
// no id is given twice. In which streams an identity is seen one link tells once, and a new identity is told once
// but for what a link that begins tells again.
func TestHistories(t *testing.T) {
	told := 0
	for seed := range *histories {
		w := newWorld(t, uint64(seed))
		for range 40 {
			w.step()
		}
		told += len(w.said)
	}
	if told < *histories {
		t.Errorf("%d names said in %d histories: they say nothing", told, *histories)
	}
}

// inTwo returns a link that was told of two clusters of one thing, and what it says of them, by name.
func inTwo(t *testing.T, stream string, label string) (l *linking, say func() map[string]string) {
	l = newLinking("shop", most, nil)
	say = func() map[string]string {
		t.Helper()
		d, err := record.NewDecoder(record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, _, said := l.unsaid("labels", "clusters")
		said()
		found := map[string]string{}
		for _, r := range list {
			if len(r.Value) == 0 {
				found[strings.TrimPrefix(string(r.Key), "name:")] = ""
				continue
			}
			x, err := d.DecodeLabel(t.Context(), &record.Raw{Key: r.Key, Value: r.Value})
			if err != nil {
				t.Fatal(err)
			}
			found[x.Name.Name] = x.Name.Into
		}
		return found
	}
	var list []*record.Cluster
	for _, in := range []string{"cam", stream} {
		c := &record.Cluster{Stream: in, Cluster: "cluster-1", Label: label, Mean: []float32{1, 0}, Items: 9}
		other := &record.Cluster{Stream: in, Cluster: "cluster-2", Mean: []float32{0, 1}, Items: 9}
		for _, c := range []*record.Cluster{c, other} {
			out := c.Record("clusters")
			if c, err := record.DecodeCluster(&record.Raw{Key: out.Key, Value: out.Value}); err == nil {
				list = append(list, c)
			} else {
				t.Log(err)
			}
		}
	}
	l.restore(nil, list, nil, nil, nil)
	return l, say
}

// A cluster whose name the labels topic does not take is of no identity: its name would be written again and again.
func TestLongNames(t *testing.T) {
	for _, n := range []int{1000, 1015, 1024} {
		_, say := inTwo(t, strings.Repeat("x", n), "")
		if said := say(); (said["shop/cam/cluster-1"] != "") != (n == 1000) {
			t.Errorf("%d bytes: %d names", n, len(said))
		}
	}
}

// What people have forgotten the link does not say again, although a silent stream's cluster is still called so.
func TestForgottenNames(t *testing.T) {
	l, say := inTwo(t, "cam-1", "anna")
	before := say()
	id := before["shop/cam/cluster-1"]
	if before[id] != "anna" {
		t.Fatal(before)
	}
	delete(before, id)
	var said []record.Name
	for name, into := range before {
		said = append(said, record.Name{Name: name, Into: into, By: record.ByLink})
	}
	l.topicHas(said)
	l.say([]record.Name{{Name: "anna", By: "kim"}}, nil)
	if again := say(); again[id] != "" {
		t.Errorf("it says again: %v", again)
	}
	l.say([]record.Name{{Name: "anna", By: "kim"}, {Name: "anna", Stream: "cam", Into: "visitor", By: "kim"}}, nil)
	if again := say(); again[id] != "visitor" {
		t.Errorf("a name that was given since: %v", again)
	}
}

func ofShop(n *record.Name) bool {
	group, is := n.OfLink()
	return is && group == "shop"
}

// What is said depends on the order of the clusters, not on how many are read at once.
func TestBatches(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(t, seed)
		for range 100 {
			w.publish()
		}
		together, apart := newLinking("shop", most, nil), newLinking("shop", most, nil)
		together.update(w.since)
		for _, c := range w.since {
			apart.update([]*record.Cluster{c})
		}
		if !reflect.DeepEqual(together.seen, apart.seen) || len(apart.seen.untold) == 0 {
			t.Errorf("seed %d: seen together %+v, one by one %+v", seed, together.seen, apart.seen)
		}
		if !maps.Equal(together.wanted, apart.wanted) {
			t.Errorf("seed %d: together %v, one by one %v", seed, together.wanted, apart.wanted)
		}
	}
}

// A stream that is given up has no clusters, whatever its model, and their records are deleted; those of other models stay.
func TestForgottenStream(t *testing.T) {
	l := newLinking("shop", most, nil)
	for _, model := range []string{"", "clip", "dino"} {
		for _, in := range []string{"cam-1", "cam-2"} {
			l.update([]*record.Cluster{{Stream: in, Cluster: "cluster-1", Model: model, Mean: []float32{1, 2}, Items: 4}})
		}
	}
	if len(l.clusters) != 6 || len(l.told) != 3 {
		t.Fatalf("%d clusters, %d identities", len(l.clusters), len(l.told))
	}
	l.update([]*record.Cluster{{Stream: "cam-1", Cluster: record.AllClusters, Model: "clip"}})
	list, _, _ := l.unsaid("labels", "clusters")
	var deleted []string
	for _, r := range list {
		if r.Topic == "clusters" {
			deleted = append(deleted, string(r.Key))
		}
	}
	if len(l.clusters) != 5 || !slices.Equal(deleted, []string{"cam-1/cluster-1/clip"}) {
		t.Errorf("%d clusters are left, deleted %q", len(l.clusters), deleted)
	}
}

// Two stages may link with one labels topic: none takes what the other says for its own.
func TestTwoLinks(t *testing.T) {
	l, say := inTwo(t, "cam-1", "")
	mine := say()
	if len(mine) == 0 {
		t.Fatal("nothing is said")
	}
	n := record.Name{Name: record.InGroup("bank", "cam/cluster-1"), Into: record.IdentityName("bank", 1), By: record.ByLink}
	if group, is := n.OfLink(); !is || group != "bank" || mine[n.Name] != "" || mine[n.Into] != "" {
		t.Errorf("%q of %v", group, mine)
	}
	for name := range mine {
		x := record.Name{Name: name, Into: mine[name], By: record.ByLink}
		if !ofShop(&x) {
			t.Errorf("%v is not of its stage", x)
		}
	}
	l.say([]record.Name{{Name: n.Into, Into: "anna", By: "kim"}}, nil)
	if said := say(); len(said) > 0 {
		t.Errorf("a name of another stage's identity: %v", said)
	}
}
