package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/link"
)

// linked is a stage whose streams see the same things, each under clusters of its own.
type linked struct {
	t      *testing.T
	client *topic.Client
	feed   *feed
	child  child
	sent   int
	things int
	stage  *Stage // in this process
	got    *sink
}

const linkedStreams = 3

func newLinked(t *testing.T, exactlyOnce bool) *linked {
	brokers := brokertest.Brokers(t)
	w := &linked{t: t, client: brokertest.Connect(t, brokers), feed: newFeed(5)}
	w.child = child{
		Brokers: brokers, Group: brokertest.Name("group"), Out: brokertest.Name("out"), Labels: brokertest.Name("labels"),
		Identities: brokertest.Name("identities"), Episodes: brokertest.Name("episodes"), Seed: 5,
		Limits:  consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20},
		Session: session, StateInterval: 300 * time.Millisecond, ExactlyOnce: exactlyOnce,
	}
	w.child.In = brokertest.Topic(t, w.client, "in", 2, nil)
	stage, err := New(w.client, w.child.options(w.client))
	if err != nil {
		t.Fatal(err)
	}
	w.stage = stage
	return w
}

// see sends each stream some items of the things from first on. Each begins with another thing, so that their clusters
// have other numbers.
func (w *linked) see(first, end int) {
	var list []record.Out
	const each = 20
	for s := range linkedStreams {
		for range each {
			for i := range end - first {
				thing := first + (i+s)%(end-first)
				w.sent++
				list = append(list, record.Out{
					Topic: w.child.In, Partition: -1, Key: fmt.Appendf(nil, "cam-%d", s), Value: encode(w.feed.vector(thing)),
					Headers: []record.Header{{Key: "id", Value: fmt.Appendf(nil, "thing-%d", thing)}},
					Time:    time.Now().Add(time.Duration(w.sent) * time.Second),
				})
			}
		}
	}
	write(w.t, w.client, list)
	w.got = collect(w.t, w.client, w.child.Out, count(w.sent))
	w.things = max(w.things, end)
}

// clusters returns the clusters that each thing's last items have in each stream.
func (w *linked) clusters() map[[2]string]string {
	found, latest := map[[2]string]string{}, map[[2]string]int64{}
	for _, all := range w.got.answers {
		r := &all[len(all)-1]
		key := [2]string{r.ItemID, r.Stream}
		class := r.Label
		if r.Class != "" {
			class = r.Class
		}
		if at, known := latest[key]; !known || r.Source.Offset > at {
			found[key], latest[key] = class, r.Source.Offset
		}
	}
	return found
}

// identities waits until each thing has one identity over all streams, and no two the same, and returns them.
func (w *linked) identities(what string) []string {
	w.t.Helper()
	clusters := w.clusters()
	list := make([]string, w.things)
	waitUntil(w.t, what, func() bool {
		v, taken := w.stage.Labels().Current(), map[string]bool{}
		for thing := range list {
			for s := range linkedStreams {
				stream := fmt.Sprintf("cam-%d", s)
				id := v.Identity(w.child.Group, record.StreamID{Name: stream}, clusters[[2]string{fmt.Sprintf("thing-%d", thing), stream}])
				if id == "" || s > 0 && id != list[thing] {
					return false
				}
				list[thing] = id
			}
			if !w.lists(list[thing]) {
				return false
			}
			if taken[list[thing]] {
				return false
			}
			taken[list[thing]] = true
		}
		return true
	})
	return list
}

// lists says whether the stage lists an identity with clusters of all streams, each of which it is called by.
func (w *linked) lists(id string) bool {
	streams := map[record.StreamID]bool{}
	for _, l := range w.stage.Linked() {
		if l.Identity == id && w.stage.Labels().Current().Identity(w.child.Group, l.Of, l.Cluster) == id {
			streams[l.Of] = true
		}
	}
	return len(streams) == linkedStreams
}

// links returns the member of the link's group whose process links; "": none, or the group is rebalancing.
func (w *linked) links() string {
	g, err := w.client.Group(w.t.Context(), link.GroupOf(w.child.Group))
	if err != nil {
		return ""
	}
	for _, m := range g.Members {
		if len(m.Assigned) > 0 {
			return m.ID
		}
	}
	return ""
}

// seen waits until it is told of each identity that it is new and in which streams it is seen.
func (w *linked) seen(ids []string) {
	w.t.Helper()
	var told map[string]map[string][]record.Sighting
	waitUntil(w.t, "nobody is told where things are seen", func() bool {
		told = w.sightings()
		return !slices.ContainsFunc(ids, func(id string) bool { return len(told[id]) < linkedStreams })
	})
	for _, id := range ids {
		isNew := 0
		for _, list := range told[id] {
			for _, x := range list {
				if x.Events[0] == record.IdentityNew+" "+id {
					isNew++
				} else if x.Events[0] != record.IdentitySeen+" "+id {
					w.t.Errorf("%+v", x)
				}
			}
		}
		if isNew != 1 && w.child.ExactlyOnce || isNew == 0 {
			w.t.Errorf("%s is new %d times", id, isNew)
		}
	}
}

// sightings returns what was told of identities, by identity and stream.
func (w *linked) sightings() map[string]map[string][]record.Sighting {
	w.t.Helper()
	spans, err := w.client.SpansOf(w.t.Context(), true, w.child.Episodes)
	if err != nil {
		w.t.Fatal(err)
	}
	told := map[string]map[string][]record.Sighting{}
	for r, err := range w.client.Records(w.t.Context(), spans...) {
		var x record.Sighting
		if err == nil {
			err = json.Unmarshal(r.Value, &x)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if x.Identity == "" {
			continue // an episode
		}
		if string(r.Key) != x.Identity {
			w.t.Errorf("%s has the key %s", r.Value, r.Key)
		}
		if told[x.Identity] == nil {
			told[x.Identity] = map[string][]record.Sighting{}
		}
		told[x.Identity][x.Stream] = append(told[x.Identity][x.Stream], x)
	}
	return told
}

func (w *linked) say(records ...record.Out) {
	w.t.Helper()
	if err := labels.Write(w.t.Context(), w.client, records); err != nil {
		w.t.Fatal(err)
	}
}

// Streams that see the same things under other numbers get one identity for each, which is in results from then on and
// has the name that a person gives to one of its clusters; what a person says to differ is parted; and all of that can be
// undone. If the process that links is killed another one goes on, and no identity changes.
func TestIdentities(t *testing.T) {
	t.Parallel()
	for name, exactlyOnce := range map[string]bool{"at least once": false, "exactly once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLinked(t, exactlyOnce)
			other := w.child.launch(t)
			waitUntil(t, "the other process does not link", func() bool { return w.links() != "" })
			linking := w.links()
			w.see(0, 4)
			run(t, w.stage)
			first := w.identities("the streams' things get no identities")
			w.seen(first)

			waitUntil(t, "the process that began first does not link", func() bool { return w.links() == linking })
			kill(t, other)
			killed := time.Now()
			w.see(0, 5)
			after := w.identities("a new thing gets no identity once the process that linked is killed")
			t.Logf("%s from the kill to the identity of a new thing, with sessions of %s", time.Since(killed), session)
			for thing, id := range first {
				if after[thing] != id {
					t.Errorf("thing-%d was %s before the kill, and is %s", thing, id, after[thing])
				}
			}
			w.seen(after)
			before := w.got.answers
			w.see(0, 5)
			for id, all := range w.got.answers {
				r := &all[len(all)-1]
				var thing int
				fmt.Sscanf(r.ItemID, "thing-%d", &thing)
				if r.Identity != "" && r.Identity != after[thing] {
					t.Errorf("%s of %s is %s in its result, not %s", r.ItemID, r.Stream, r.Identity, after[thing])
				}
				if r.Identity == "" && before[id] == nil {
					t.Errorf("%s of %s has no identity in its result", r.ItemID, r.Stream)
				}
			}

			at := w.clusters()
			cluster := at[[2]string{"thing-2", "cam-1"}]
			named := record.Name{Name: cluster, Stream: "cam-1", Into: "anna", By: "kim"}
			w.say(record.NameRecord(w.child.Labels, &named))
			waitFor(w, "a name does not reach all streams", func(ids []string) bool { return ids[2] == "anna" })
			w.say(record.Forget(w.child.Labels, record.NameKey(cluster, "cam-1")))
			waitFor(w, "a name cannot be undone", func(ids []string) bool { return ids[2] == after[2] })

			a, b := at[[2]string{"thing-0", "cam-0"}], at[[2]string{"thing-0", "cam-1"}]
			differ := record.NotThis{
				ID: "differ", ItemID: record.ClusterName(cam(0), a), Not: []string{record.ClusterName(cam(1), b)}, Vector: w.feed.vector(0),
			}
			w.say(record.Not(w.child.Labels, &differ))
			waitUntil(t, "what was said to differ is one identity", func() bool {
				v := w.stage.Labels().Current()
				x, y := v.Identity(w.child.Group, cam(0), a), v.Identity(w.child.Group, cam(1), b)
				return x != y
			})
			w.say(record.Forget(w.child.Labels, "differ"))
			w.identities("what was said to differ stays parted")
		})
	}
}

func cam(n int) record.StreamID { return record.StreamID{Name: fmt.Sprint("cam-", n)} }

func waitFor(w *linked, what string, right func([]string) bool) {
	w.t.Helper()
	waitUntil(w.t, what, func() bool { return right(w.identities(what)) })
}

// Without the setting nothing is published, and answers are those with it, but for the identity.
func TestIdentitiesChangeNoAnswer(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(9)
	in := brokertest.Topic(t, client, "in", 1, nil)
	const n = 600
	write(t, client, f.records(in, 3, n))
	write(t, client, markers(in, 3))
	var all []*sink
	for _, with := range []bool{false, true} {
		o := basics(client, in, f)
		o.Support, o.Labels = nil, brokertest.Name("labels")
		if with {
			o.Identities = brokertest.Name("identities")
		}
		stop := start(t, client, o)
		got := collect(t, client, o.Out, count(n))
		stop()
		for _, answers := range got.answers {
			for i := range answers {
				if !with && answers[i].Identity != "" {
					t.Fatalf("%s has an identity", answers[i].ID)
				}
				answers[i].Identity = ""
			}
		}
		all = append(all, got)
		if !with {
			continue
		}
		published, ctx := map[string]*record.Cluster{}, context.Background()
		spans, err := client.SpansOf(ctx, true, o.Identities)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range client.Records(ctx, spans...) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := record.DecodeCluster(r)
			if err != nil {
				t.Fatal(err)
			}
			published[string(r.Key)] = c
		}
		for _, answers := range got.answers {
			name := record.ClusterName(record.StreamID{Name: answers[0].Stream, Model: answers[0].Model}, answers[0].Label)
			if strings.HasPrefix(answers[0].Label, "cluster-") && published[name] == nil {
				t.Errorf("%s is not published", name)
			}
		}
	}
	compare(t, all[0], all[1], n)
}
