package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
)

// fewShotSection scores our solver and scikit-learn's methods on the same exported tasks.
var fewShotSection = section{
	name: "fewshot", title: "Few-shot accuracy",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets(fewShotSets...)
		if err != nil {
			return err
		}
		defer forget()
		sets, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		few := evaluate.FewShot{Ways: 5, Shots: []int{1, 5}, Tasks: 100, Seed: 1, SplitSeed: 1, MetricEpisodes: 20}
		if b.Quick {
			few.Tasks = 20
		}
		for _, name := range []string{"balanced", "dirichlet:2", "dirichlet:0.5", "absent"} {
			mix, err := evaluate.ParseMix(name)
			if err != nil {
				return err
			}
			few.Mixes = append(few.Mixes, mix)
		}
		s, err := solver.DefaultPreset.Settings()
		if err != nil {
			return err
		}
		add := func(name string) {
			few.Candidates = append(few.Candidates, evaluate.Candidate{Preset: name, Method: string(s.Method), Settings: s})
		}
		add("default")
		s.MetricBetween = 0
		add("default, with the metric that streams learn")
		s.MetricRank = 0
		add("default, no metric")
		s = few.Candidates[0].Settings
		s.Method = solver.SLKModes
		few.Candidates = append(few.Candidates, evaluate.Candidate{
			Preset: "default", Method: string(s.Method),
			Settings: s,
		})

		export, err := os.MkdirTemp("", "slkstream-tasks-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(export)
		t := newAccuracyTable()
		theirs := b.Has("scikit-learn")
		for i, set := range sets {
			results, err := few.Run(ctx, set)
			if err != nil {
				return err
			}
			for _, r := range results {
				t.add("ours: "+r.Preset+", "+r.Method, set.Name,
					evaluate.Cell{Shots: r.Shots, Mix: evaluate.Mix{Name: r.Mix}}.Name(), r.Accuracy, r.EpisodeMicros)
			}
			if theirs != nil {
				continue
			}
			split, cells, err := few.Draw(set)
			if err != nil {
				return err
			}
			if err := evaluate.ExportTasks(export, set, split, cells); err != nil {
				return err
			}
			var peers []struct {
				Peer, Cell    string
				Accuracy      float64
				EpisodeMicros float64 `json:"episode_us"`
			}
			if err := b.Python(ctx, 1, &peers, "fewshot.py", folders[i], filepath.Join(export, set.Name)); err != nil {
				return err
			}
			for _, p := range peers {
				t.add(peerPrefix+p.Peer, set.Name, p.Cell, p.Accuracy, p.EpisodeMicros)
			}
		}
		b.Text(
			"%d tasks of 5 classes for each of 1 and 5 shots and four mixes, on %d sets, the contract's protocol. Per cent right, mean over sets, then shots and mixes: core is balanced and Dirichlet(2), skewed Dirichlet(0.5) and two absent classes. Everyone sees the same tasks and may centre by the same base rows; the metric is learned from 20 tasks of base classes. Time: one task on one core, median, from raw rows to labels (theirs: the median of fit and predict alone).",
			few.Tasks,
			len(sets),
		)
		columns := []string{"method", "core", "skewed"}
		for _, set := range sets {
			columns = append(columns, set.Name+" core")
		}
		var rows [][]string
		for _, method := range t.methods {
			row := []string{
				method, fmt.Sprintf("%.2f", t.mean(method, "", core)),
				fmt.Sprintf("%.2f", t.mean(method, "", skewed)),
			}
			for _, set := range sets {
				row = append(row, fmt.Sprintf("%.2f", t.mean(method, set.Name, core)))
			}
			rows = append(rows, append(row, fmt.Sprintf("%.0f", t.micros(method))))
		}
		b.Table(append(columns, "task µs"), rows)
		if theirs != nil {
			b.Missing("nearest centroid, KMeans, LabelSpreading, GaussianMixture of scikit-learn", theirs)
		}
		for name, method := range map[string]string{
			"default": t.methods[0], "as-streams": t.methods[1], "default-cold": t.methods[2],
		} {
			b.Figure("fewshot."+name+".core", "%.1f", t.mean(method, "", core))
			b.Figure("fewshot."+name+".skewed", "%.1f", t.mean(method, "", skewed))
		}
		best := ""
		for _, method := range t.methods {
			if strings.HasPrefix(method, peerPrefix) && (best == "" || t.mean(method, "", core) > t.mean(best, "",
				core)) {
				best = method
			}
		}
		if best != "" {
			b.Figure("fewshot.best-peer.name", "%s", strings.TrimPrefix(best, peerPrefix))
			b.Figure("fewshot.best-peer.core", "%.1f", t.mean(best, "", core))
			b.Figure("fewshot.best-peer.skewed", "%.1f", t.mean(best, "", skewed))
		}
		slices.SortFunc(b.figures, func(x, y figure) int { return strings.Compare(x.name, y.name) })
		return nil
	},
}

const peerPrefix = "scikit-learn: "

var (
	core   = []string{"1-shot-balanced", "5-shot-balanced", "1-shot-dirichlet-2", "5-shot-dirichlet-2"}
	skewed = []string{"1-shot-dirichlet-0.5", "5-shot-dirichlet-0.5", "1-shot-absent", "5-shot-absent"}
)
