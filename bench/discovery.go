package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// discovery compares clusters with stable ids over a stream without labels.
func discovery(ctx context.Context, b *bench, sets []*evaluate.Set, settings solver.Settings) error {
	theirs := b.Has("scikit-learn")
	var rows [][]string
	for _, set := range sets {
		stream := evaluate.Stream{Protocol: streamOrder(set.Name), Settings: stream.Defaults(settings), Method: "slk-means"}
		stream.Protocol.MinRows, stream.Settings.Discover = 20, true
		r, err := stream.Run(ctx, set, 1)
		if err != nil {
			return err
		}
		rows = append(rows, discoveryRow(set.Name, "ours", *r.NMI, *r.PairF1, r.Clusters, *r.IDSwitches))
		b.Figure("discovery."+set.Name+".nmi", "%.3f", *r.NMI)
		if theirs != nil {
			continue
		}
		trial, err := stream.Protocol.Draw(set, 1)
		if err != nil {
			return err
		}
		folder, err := os.MkdirTemp("", "slkstream-stream-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if err := evaluate.ExportStream(folder, trial, 1); err != nil {
			return err
		}
		var peers []struct {
			Peer   string
			Labels []int32
		}
		into := filepath.Join(folder, set.Name, "seed-1")
		if err := b.Python(ctx, 0, &peers, "discovery.py", into); err != nil {
			return err
		}
		var truth []int32
		for _, episode := range trial.Episodes {
			for _, i := range episode {
				truth = append(truth, trial.Items[i].Truth)
			}
		}
		for _, p := range peers {
			clusters := map[int32]bool{}
			for _, l := range p.Labels {
				clusters[l] = true
			}
			rows = append(rows, discoveryRow(set.Name, p.Peer, evaluate.NMI(truth, p.Labels), evaluate.PairF1(truth, p.Labels), len(clusters), evaluate.IDSwitches(truth, p.Labels)))
		}
	}
	b.Text("Discovery: the same streams with no labels at all (classes of 20 rows and more, seed 1). Asked of mot17-05-reid: NMI >= .93, pairwise F1 >= .90, at most 80 id switches.")
	b.Table([]string{"stream", "method", "NMI", "pairwise F1", "clusters", "id switches"}, rows)
	if theirs != nil {
		b.Missing("HDBSCAN with Hungarian matching, plain leaders", theirs)
	}
	return nil
}

func discoveryRow(set, method string, nmi, f1 float64, clusters, switches int) []string {
	return []string{set, method, fmt.Sprintf("%.3f", nmi), fmt.Sprintf("%.3f", f1), fmt.Sprint(clusters), fmt.Sprint(switches)}
}
