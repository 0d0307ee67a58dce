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

// discovery compares clusters with stable ids over streams without labels.
func discovery(ctx context.Context, b *bench, sets []*evaluate.Set, settings solver.Settings) error {
	theirs := b.Has("scikit-learn")
	var rows [][]string
	var means [2][3]float64 // of ours and of plain leaders: NMI, pairwise F1, id switches
	streams := evaluate.DiscoveryStreams(sets)
	for _, d := range streams {
		for i, method := range []string{"slk-means", evaluate.Leaders} {
			run := evaluate.Stream{Protocol: d.Protocol, Settings: stream.Defaults(settings), Method: method}
			run.Settings.Discover = true
			r, err := run.Run(ctx, d.Set, 1)
			if err != nil {
				return err
			}
			name := []string{"ours", "plain leaders"}[i]
			rows = append(rows, discoveryRow(d.Name, name, *r.NMI, *r.PairF1, r.Clusters, *r.IDSwitches))
			for j, v := range []float64{*r.NMI, *r.PairF1, float64(*r.IDSwitches)} {
				means[i][j] += v / float64(len(streams))
			}
			if i == 0 && d.Name == d.Set.Name {
				b.Figure("discovery."+d.Name+".nmi", "%.3f", *r.NMI)
			}
		}
		if theirs != nil || d.Name != d.Set.Name {
			continue
		}
		theirRows, err := discoveryPeers(ctx, b, d)
		if err != nil {
			return err
		}
		rows = append(rows, theirRows...)
	}
	b.Text("Discovery: streams with no labels at all (classes of 20 rows and more, seed 1; cameras with their frames). Plain leaders have the mean of all rows, known beforehand, taken off, and one radius for every stream. Asked of mot17-05-reid: NMI >= .946, pairwise F1 >= .932, at most 48 id switches; of the mean over all streams: ahead of plain leaders in all three.")
	b.Table([]string{"stream", "method", "NMI", "pairwise F1", "clusters", "id switches"}, rows)
	var table [][]string
	for i, name := range []string{"ours", "plain leaders"} {
		m := means[i]
		table = append(table, []string{
			name, fmt.Sprintf("%.3f", m[0]), fmt.Sprintf("%.3f", m[1]),
			fmt.Sprintf("%.1f", m[2]),
		})
	}
	b.Text("The mean over these %d streams.", len(streams))
	b.Table([]string{"method", "NMI", "pairwise F1", "id switches"}, table)
	if theirs != nil {
		b.Missing("HDBSCAN with Hungarian matching", theirs)
	}
	return nil
}

// discoveryPeers scores what clusters each episode by itself.
func discoveryPeers(ctx context.Context, b *bench, d evaluate.DiscoveryStream) ([][]string, error) {
	trial, err := d.Protocol.Draw(d.Set, 1)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "slkstream-stream-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := evaluate.ExportStream(folder, trial, 1); err != nil {
		return nil, err
	}
	var peers []struct {
		Peer   string
		Labels []int32
	}
	if err := b.Python(ctx, 0, &peers, "discovery.py", filepath.Join(folder, d.Set.Name, "seed-1")); err != nil {
		return nil, err
	}
	var truth []int32
	for _, episode := range trial.Episodes {
		for _, i := range episode {
			truth = append(truth, trial.Items[i].Truth)
		}
	}
	var rows [][]string
	for _, p := range peers {
		clusters := map[int32]bool{}
		for _, l := range p.Labels {
			clusters[l] = true
		}
		rows = append(rows, discoveryRow(d.Name, p.Peer, evaluate.NMI(truth, p.Labels),
			evaluate.PairF1(truth, p.Labels), len(clusters), evaluate.IDSwitches(truth, p.Labels)))
	}
	return rows, nil
}

func discoveryRow(set, method string, nmi, f1 float64, clusters, switches int) []string {
	return []string{
		set, method, fmt.Sprintf("%.3f", nmi), fmt.Sprintf("%.3f", f1), fmt.Sprint(clusters),
		fmt.Sprint(switches),
	}
}
