package stream

import (
	"context"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver"
)

// Whoever puts the clusters of all reports together has those of the stream, also after a name, a reset and a
// retirement; without the setting there are none.
func TestReportsHaveTheClustersThatChanged(t *testing.T) {
	settings := Settings{Solver: solver.Defaults(), Warm: true, Summaries: true}
	s, silent := New("cam", settings), New("cam", Settings{Solver: solver.Defaults(), Warm: true})
	known := map[string]ClusterSummary{}
	answer := func(label string, classes ...int) {
		t.Helper()
		var items []Item
		for i, class := range classes {
			v := make([]float32, 16)
			v[class], v[15] = 1, .01*float32(i)
			items = append(items, Item{Vector: v})
		}
		items[0].Label = label
		if _, report, err := silent.Answer(context.Background(), nil, items, nil); err != nil || report.Clusters != nil {
			t.Fatalf("clusters %v without the setting (%v)", report.Clusters, err)
		}
		_, report, err := s.Answer(context.Background(), nil, items, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Clusters {
			if known[c.Cluster] = c; c.Mean == nil {
				delete(known, c.Cluster)
			}
		}
		all := s.Clusters()
		for _, c := range all {
			if k := known[c.Cluster]; k.Label != c.Label || k.Items != c.Items || k.Seen != c.Seen {
				t.Errorf("%s is %v in the reports, %v in the stream", c.Cluster, k, c)
			}
		}
		if len(all) != len(known) || len(all) == 0 {
			t.Errorf("%d clusters in the reports, %d in the stream", len(known), len(all))
		}
	}
	answer("", 0, 0, 0, 1, 1, 2)
	answer("", 1, 1, 3)
	answer("anna", 2, 3)
	if !s.Reset("anna") {
		t.Error("no cluster was named")
	}
	answer("", 4, 4)
	s.Reset("")
	answer("", 0, 5)
	s.clusters.Retire(1, func(string) {})
	answer("", 0)
}

// Clusters that were in one frame are told for as long as they are there, also by the stream that is restored.
func TestClustersOfOneFrame(t *testing.T) {
	settings := Settings{Solver: solver.Defaults(), Warm: true, Summaries: true}
	s, without := New("cam", settings), New("cam", Settings{Solver: solver.Defaults(), Warm: true})
	answer := func(frame string, classes ...int) (labels []string) {
		t.Helper()
		var items []Item
		for _, class := range classes {
			v := make([]float32, 16)
			v[class] = 1
			items = append(items, Item{Vector: v, Frame: frame})
		}
		answers, _, err := s.Answer(context.Background(), nil, items, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := without.Answer(context.Background(), nil, items, nil); err != nil {
			t.Fatal(err)
		}
		for i := range answers {
			labels = append(labels, answers[i].Label)
		}
		return labels
	}
	first := answer("one", 0, 1, 2)
	answer("two", 1)
	answer("", 0, 3)
	restored, err := Restore(settings, s.State())
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Stream{s, restored} {
		for _, c := range of.Clusters() {
			var want []string
			for _, other := range first {
				if slices.Contains(first, c.Cluster) && other != c.Cluster {
					want = append(want, other)
				}
			}
			slices.Sort(want)
			if !slices.Equal(c.Apart, want) {
				t.Errorf("%s was in one frame with %v, not %v", c.Cluster, c.Apart, want)
			}
		}
	}
	for _, c := range without.Clusters() {
		if c.Apart != nil {
			t.Errorf("%s has %v without the setting", c.Cluster, c.Apart)
		}
	}
}
