package link

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// A cluster is published at once when it is new or has another label, else ten seconds of event time after the last time
// and with what came since; one that is gone has a tombstone.
func TestPublish(t *testing.T) {
	p := Publish("clusters", "shop", false)
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	answered := func(second int, clusters ...stream.ClusterSummary) (published []string) {
		t.Helper()
		e := &extension.Answered{Episode: &consumer.Episode{Key: record.StreamID{Name: "cam"}}}
		for i, c := range clusters {
			item := record.Item{Time: start.Add(time.Duration(second) * time.Second), Frame: "frame"}
			e.Episode.Items = append(e.Episode.Items, item)
			e.Keys = append(e.Keys, record.ItemKey(fmt.Sprintf("in/0/%d", 100*second+i)))
			e.Answers = append(e.Answers, stream.Answer{Class: c.Label})
		}
		e.Report.Clusters = clusters
		p.Answered(e)
		for _, r := range p.Records() {
			c, err := record.DecodeCluster(&record.Raw{Key: r.Key, Value: r.Value})
			if err != nil || r.Topic != "clusters" || r.Partition != 0 {
				t.Fatalf("%s: %v", r.Key, err)
			}
			text := fmt.Sprintf("%s %d", r.Key, c.Items)
			if c.Mean != nil {
				text += fmt.Sprintf(" %s %v %s %v", c.Label, c.Seen.Sub(start), c.Item, c.Apart)
			}
			published = append(published, text)
		}
		return published
	}
	cluster := func(name, label string, items int64) stream.ClusterSummary {
		other := map[string]string{"cluster-1": "cluster-2", "cluster-2": "cluster-1"}[name]
		return stream.ClusterSummary{Cluster: name, Label: label, Items: items, Mean: []float32{1, 0}, Apart: []string{other}}
	}
	a := func(items int64) stream.ClusterSummary { return cluster("cluster-1", "cluster-1", items) }
	rest := func(what string) {
		t.Helper()
		list := p.Records()
		if len(list) == 0 || string(list[0].Key) != "cam/cluster-*" || list[0].Value != nil {
			t.Errorf("%s: %v", what, list)
		}
	}
	for i, c := range []struct {
		got, want []string
	}{
		{answered(0, a(1)), []string{"cam/cluster-1 1  0s in/0/0 [cluster-2]"}},
		{answered(4, a(2)), nil},
		{
			answered(6, a(3), cluster("cluster-2", "cluster-2", 1)),
			[]string{"cam/cluster-2 1  6s in/0/601 [cluster-1]"},
		},
		{answered(11), nil}, // no item: no time
		{answered(12, cluster("cluster-2", "anna", 2)), []string{
			"cam/cluster-1 3  6s in/0/600 [cluster-2]", "cam/cluster-2 2 anna 12s in/0/1200 [cluster-1]",
		}},
		{answered(13, stream.ClusterSummary{Cluster: "cluster-2", Label: "anna"}), []string{"cam/cluster-2 0"}},
		{answered(15, a(4)), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%d: published %q, not %q", i, c.got, c.want)
		}
	}
	p.Forgotten(record.StreamID{Name: "cam"})
	rest("a stream is forgotten")
	p.Answered(&extension.Answered{
		Episode: &consumer.Episode{Key: record.StreamID{Name: "cam"}},
		Report:  stream.Report{Episode: 1, Clusters: []stream.ClusterSummary{a(1)}},
	})
	rest("a stream begins anew")
}

// A visit ends with a pause of more than two seconds; the last ones are published, of items in whatever order.
func TestVisits(t *testing.T) {
	var last []record.Visit
	p := Publish("clusters", "shop", true)
	see := func(seconds ...float64) {
		e := &extension.Answered{Episode: &consumer.Episode{Key: record.StreamID{Name: "cam"}}}
		for i, at := range seconds {
			e.Episode.Items = append(e.Episode.Items, record.Item{Time: time.UnixMilli(int64(1000 * at))})
			e.Keys = append(e.Keys, record.ItemKey(fmt.Sprintf("in/0/%d", i)))
			e.Answers = append(e.Answers, stream.Answer{Class: "cluster-1"})
		}
		e.Report.Clusters = []stream.ClusterSummary{{Cluster: "cluster-1", Label: "cluster-1", Items: 1, Mean: []float32{1, 0}}}
		p.Answered(e)
		for _, r := range p.Records() {
			c, err := record.DecodeCluster(&record.Raw{Key: r.Key, Value: r.Value})
			if err != nil {
				t.Fatal(err)
			}
			last = c.Visits
		}
	}
	see(100, 102, 101, 104.5, 103.9)
	if want := []record.Visit{{100_000, 102_000}, {103_900, 104_500}}; !slices.Equal(last, want) {
		t.Errorf("visits %v, not %v", last, want)
	}
	see(50, 105, 200) // the first is late
	if want := []record.Visit{{100_000, 102_000}, {103_900, 105_000}, {200_000, 200_000}}; !slices.Equal(last, want) {
		t.Errorf("visits %v, not %v", last, want)
	}
	for i := range 2 * record.MostVisits {
		see(float64(300 + 20*i))
	}
	if n := len(last); n != record.MostVisits || last[n-1][1] != 1000*(300+20*(2*record.MostVisits-1)) {
		t.Errorf("%d visits, %v", n, last)
	}
}
