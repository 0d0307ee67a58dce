package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"slkstream/internal/evaluate"
	"slkstream/internal/memory"
	"slkstream/solver"
)

// learningSection scores the stage on streams, beside online learners that get the same labels, and its discovery beside
// clustering each episode by itself.
var learningSection = section{name: "learning", title: "Accuracy over streams", run: func(ctx context.Context, b *bench) error {
	folders, forget, err := b.Sets("mot17-05-reid", "grocery")
	if err != nil {
		return err
	}
	defer forget()
	sets, err := evaluate.ReadSets(folders)
	if err != nil {
		return err
	}
	trials := uint64(5)
	if b.Quick {
		trials = 1
	}
	settings, err := solver.Preset("default")
	if err != nil {
		return err
	}
	var rows [][]string
	columns := []string{"method"}
	for _, set := range sets {
		for _, teach := range []float64{0, .03} {
			for _, shots := range []int{1, 5} {
				columns = append(columns, fmt.Sprintf("%s, %d shots, %g %% taught", set.Name, shots, 100*teach))
			}
		}
	}
	for _, method := range append([]string{"default", "default, cold", "nearest"}, evaluate.Rivals...) {
		row := []string{method}
		for _, set := range sets {
			for _, teach := range []float64{0, .03} {
				for _, shots := range []int{1, 5} {
					stream := evaluate.Stream{Protocol: streamOrder(set.Name), Settings: memory.Defaults(settings), Method: method}
					stream.Protocol.Shots, stream.Protocol.Teach = shots, teach
					switch method {
					case "default, cold":
						stream.Settings.Warm = false
					case "nearest":
						stream.Settings.Solver.Method, stream.Settings.Solver.MetricRank, stream.Settings.Warm = "nearest", 0, false
					}
					var values []float64
					for seed := range trials {
						r, err := stream.Run(ctx, set, seed+1)
						if err != nil {
							return err
						}
						if r.Accuracy != nil {
							values = append(values, *r.Accuracy)
						}
					}
					mean := evaluate.Average(values).Mean
					row = append(row, fmt.Sprintf("%.3f", mean))
					if method == "default" {
						b.Figure(fmt.Sprintf("learning.%s.shots-%d.taught-%g", set.Name, shots, 100*teach), "%.3f", mean)
					}
				}
			}
		}
		rows = append(rows, row)
	}
	b.Text("Accuracy of every item that carries no label, episodes of 100, mean of %d seeds. The stage learns from its own gated answers and from what is taught; cold and nearest answer each episode from the labels before the start and in it alone; 1nn, running-mean, ridge and logistic learn online from the same labels.", trials)
	b.Table(columns, rows)
	return discovery(ctx, b, sets, settings)
}}

// streamOrder is how each set comes as a stream: in the order of the camera where it has one, else in bursts of a class.
func streamOrder(name string) evaluate.StreamProtocol {
	p := evaluate.StreamProtocol{Order: "bursts", Episode: 100, SupportBy: "class", TeachBy: "random"}
	if name == "mot17-05-reid" {
		p.Order, p.SupportBy = "rows", "first"
	}
	return p
}

// discovery compares clusters with stable ids over a stream without labels.
func discovery(ctx context.Context, b *bench, sets []*evaluate.Set, settings solver.Settings) error {
	theirs := b.Has("scikit-learn")
	var rows [][]string
	for _, set := range sets {
		stream := evaluate.Stream{Protocol: streamOrder(set.Name), Settings: memory.Defaults(settings), Method: "slk-means"}
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
	b.Text("Discovery: the same streams with no labels at all (classes of 20 rows and more, seed 1).")
	b.Table([]string{"stream", "method", "NMI", "pairwise F1", "clusters", "id switches"}, rows)
	if theirs != nil {
		b.Missing("HDBSCAN with Hungarian matching, plain leaders", theirs)
	}
	return nil
}

func discoveryRow(set, method string, nmi, f1 float64, clusters, switches int) []string {
	return []string{set, method, fmt.Sprintf("%.3f", nmi), fmt.Sprintf("%.3f", f1), fmt.Sprint(clusters), fmt.Sprint(switches)}
}
