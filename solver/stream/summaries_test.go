package stream

import (
	"context"
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
	s.clusters.retire(1, new(Report))
	answer("", 0)
}
