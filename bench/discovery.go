package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

// discoveryBars are the bars for the mean over the streams of each kind: NMI and pairwise F1.
var discoveryBars = map[string][2]float64{
	"cameras with frames":    {.955, .94},
	"cameras without frames": {.94, .915},
	"bursts":                 {.84, .59},
}

// discovery compares methods that find clusters with stable ids in unlabelled streams.
func discovery(ctx context.Context, b *bench, sets []*evaluate.Set) error {
	const firstSeed = 11
	seeds := 5
	if b.Quick {
		seeds = 1
	}
	names := []string{"ours", "plain leaders"}
	type score struct{ nmi, f1, clusters, switches, runs float64 }
	var sums []map[string]*score // by method, then by stream
	for range names {
		sums = append(sums, map[string]*score{})
	}
	var streams []evaluate.DiscoveryStream
	for seed := range seeds {
		for _, d := range evaluate.DiscoveryStreams(sets, uint64(firstSeed+seed)) {
			if d.Same && seed > 0 {
				continue
			}
			if seed == 0 {
				streams = append(streams, d)
			}
			for i, method := range []string{"slk-means", evaluate.Leaders} {
				run := evaluate.Stream{Protocol: d.Protocol, Settings: stream.Defaults(), Method: method}
				run.Settings.Discover = true
				r, err := run.Run(ctx, d.Set, 1)
				if err != nil {
					return err
				}
				if sums[i][d.Name] == nil {
					sums[i][d.Name] = &score{}
				}
				s := sums[i][d.Name]
				s.nmi, s.f1, s.runs = s.nmi+*r.NMI, s.f1+*r.PairF1, s.runs+1
				s.clusters, s.switches = s.clusters+float64(r.Clusters), s.switches+float64(*r.IDSwitches)
			}
		}
	}
	theirs := b.Has("scikit-learn")
	var rows, table [][]string
	means := map[string][]score{} // by kind, then by method
	for _, d := range streams {
		if means[d.Kind] == nil {
			means[d.Kind] = make([]score, len(names))
		}
		for i, name := range names {
			s, m := sums[i][d.Name], &means[d.Kind][i]
			nmi, f1, switches := s.nmi/s.runs, s.f1/s.runs, s.switches/s.runs
			*m = score{m.nmi + nmi, m.f1 + f1, 0, m.switches + switches, m.runs + 1}
			rows = append(rows, discoveryRow(d.Name, name, nmi, f1, s.clusters/s.runs, switches))
			if i == 0 && d.Name == d.Set.Name {
				b.Figure("discovery."+d.Name+".nmi", "%.3f", nmi)
			}
		}
		if theirs == nil && d.Name == d.Set.Name {
			theirRows, err := discoveryPeers(ctx, b, d)
			if err != nil {
				return err
			}
			rows = append(rows, theirRows...)
		}
	}
	b.Text(
		"Discovery: streams with no labels at all (classes of 20 rows and more; means over seeds %d to %d, where a seed changes the stream). Plain leaders have the mean of all rows, known beforehand, taken off, and one radius for every stream.",
		firstSeed,
		firstSeed+seeds-1,
	)
	b.Table([]string{"stream", "method", "NMI", "pairwise F1", "clusters", "id switches"}, rows)
	for _, kind := range evaluate.DiscoveryKinds {
		for i, name := range names {
			if len(means[kind]) == 0 {
				continue
			}
			m, bar := means[kind][i], discoveryBars[kind]
			row := []string{
				kind, name, fmt.Sprintf("%.3f", m.nmi/m.runs), fmt.Sprintf("%.3f", m.f1/m.runs),
				fmt.Sprintf("%.1f", m.switches/m.runs), "",
			}
			if i == 0 {
				row[5] = fmt.Sprintf("%.3f / %.3f", bar[0], bar[1])
			}
			table = append(table, row)
		}
	}
	b.Text("The means over the streams of each kind.")
	b.Table([]string{"streams", "method", "NMI", "pairwise F1", "id switches", "asked: NMI / F1"}, table)
	if theirs != nil {
		b.Missing("HDBSCAN with Hungarian matching", theirs)
	}
	return nil
}

// discoveryPeers scores methods that cluster each episode separately.
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
			evaluate.PairF1(truth, p.Labels), float64(len(clusters)),
			float64(evaluate.IDSwitches(truth, p.Labels))))
	}
	return rows, nil
}

func discoveryRow(set, method string, nmi, f1, clusters, switches float64) []string {
	return []string{
		set, method, fmt.Sprintf("%.3f", nmi), fmt.Sprintf("%.3f", f1), fmt.Sprintf("%.0f", clusters),
		fmt.Sprintf("%.1f", switches),
	}
}
