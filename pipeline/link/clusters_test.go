package link

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/identity"
)

// clustersTopic is the topic of clusters, that streams and a link write to, and what the streams have.
type clustersTopic struct {
	t         *testing.T
	records   []record.Raw
	end       int64
	has       map[string]int64 // items of the clusters that streams have, by name
	link      *linking
	next      int64 // offset of the record that the link reads next
	committed int64
}

func (k *clustersTopic) write(out record.Out) {
	k.records = append(k.records, record.Raw{Offset: k.end, Key: out.Key, Value: out.Value, Headers: out.Headers})
	k.end++
}

func (k *clustersTopic) decode(raw *record.Raw) *record.Cluster {
	k.t.Helper()
	c, err := record.DecodeCluster(raw)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k *clustersTopic) publish(stream, cluster string) {
	c := record.Cluster{Stream: stream, Cluster: cluster, Mean: record.Halves{1, 0}, Items: k.end + 1}
	k.has[c.Name()] = c.Items
	k.write(c.Record("clusters"))
}

func (k *clustersTopic) forget(stream, cluster string) {
	of := record.StreamID{Name: stream}
	maps.DeleteFunc(k.has, func(name string, _ int64) bool {
		in, x, _ := record.ClusterOf(name)
		return in == of && (cluster == record.AllClusters || x == cluster)
	})
	k.write(record.NoCluster("clusters", of, cluster))
}

// read has the link read some records and write what it has to say.
func (k *clustersTopic) read(most int) {
	var list []*record.Cluster
	for i := range k.records {
		if r := &k.records[i]; r.Offset >= k.next && len(list) < most {
			list = append(list, k.decode(r))
			k.next = r.Offset + 1
		}
	}
	k.link.update(list)
	k.commit()
}

func (k *clustersTopic) commit() {
	records, _, said := k.link.unsaid("labels", "clusters")
	said()
	for _, r := range records {
		if r.Topic == "clusters" {
			k.write(r)
		}
	}
	k.committed = k.next
}

// begin has another process link.
func (k *clustersTopic) begin() {
	found := topicOfClusters{at: map[identity.Key]int{}}
	for i := range k.records {
		found.add(k.decode(&k.records[i]), k.records[i].Offset < k.committed)
	}
	k.link, k.next = newLinking("shop", 100, nil), k.end
	k.link.restore(found.known, found.since, nil, nil, nil)
	k.commit()
}

// compact keeps the last records of all keys among the first.
func (k *clustersTopic) compact(first int) {
	last := map[string]int64{}
	for i := range k.records[:first] {
		last[string(k.records[i].Key)] = k.records[i].Offset
	}
	k.records = slices.DeleteFunc(k.records, func(r record.Raw) bool {
		at, is := last[string(r.Key)]
		return is && r.Offset < at
	})
}

// check has the link read all, and compares what it knows, and what compaction leaves, with what the streams have.
func (k *clustersTopic) check(seed int) {
	k.t.Helper()
	for rounds := 0; k.next < k.end; rounds++ {
		if k.read(1000); rounds == 100 {
			k.t.Fatalf("history %d: the link writes again and again", seed)
		}
	}
	known, kept := map[string]int64{}, map[string]int64{}
	for _, c := range k.link.clusters {
		known[c.Name()] = c.Items
	}
	for i := range k.records {
		c := k.decode(&k.records[i])
		if kept[c.Name()] = c.Items; c.Mean == nil {
			delete(kept, c.Name())
		}
	}
	if !maps.Equal(known, k.has) || !maps.Equal(kept, k.has) {
		k.t.Fatalf("history %d: streams have %v, the link knows %v, the topic keeps %v", seed, k.has, known, kept)
	}
	if len(k.link.written) > 0 {
		k.t.Fatalf("history %d: %v were written and not read", seed, k.link.written)
	}
}

// A stream that begins anew may publish a cluster before the link has deleted the one that had its number. Whatever streams
// write until the link's records are in the topic, and whenever another process takes over, the link and the topic end up
// with the clusters that the streams have.
func TestStreamsWriteMeanwhile(t *testing.T) {
	for seed := range *histories {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		k := &clustersTopic{t: t, has: map[string]int64{}, link: newLinking("shop", 100, nil)}
		for range 60 {
			stream, cluster := fmt.Sprintf("cam-%d", r.IntN(2)), fmt.Sprintf("cluster-%d", r.IntN(2))
			switch r.IntN(10) {
			case 0, 1:
				k.forget(stream, record.AllClusters)
			case 2:
				k.forget(stream, cluster)
			case 3, 4, 5:
				k.read(1 + r.IntN(4))
			case 6:
				k.begin()
			case 7:
				k.compact(r.IntN(1 + len(k.records)/2))
			default:
				k.publish(stream, cluster)
			}
		}
		k.check(seed)
	}
}
