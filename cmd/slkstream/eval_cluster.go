package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
)

var evalClusterCommand = command{
	name: "eval cluster", args: "--data DIR --k N",
	short: "agreement of clusters with the classes of labelled data",
	long: "Cluster the rows of labelled data without their labels, and score the clusters by them. Every method sees the same graph\n" +
		"of unit rows. lk, ncut and kernel-kmeans are the paper's baselines. Energy is E of the answer with prototypes fitted to\n" +
		"it, of modes for slk-ms, kmodes and lk, of means for the others: compare it within these two only. --preset paper starts\n" +
		"from k-means++, takes hard prototype steps and restarts S, as the paper does; any other preset is clustering's own.",
	example: "  slkstream eval cluster --data ./mnist --k 10 --method slk-ms,slk-means,kmeans",
	run:     evalCluster,
}

func evalCluster(ctx context.Context, c *call) error {
	e, k := c.Config.Evaluate, max(0, int(c.Config.Files.K)) // 0 is auto
	sets, err := readSets(c.Config)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if k > set.N {
			return fmt.Errorf("data %s: k %d of %d rows", set.Name, k, set.N)
		}
	}
	return measure(c, evaluate.ClusterHeading, sets,
		func(set *evaluate.Set, shown *progress) ([]evaluate.ClusterResult, error) {
			cluster := evaluate.Cluster{
				K: k, Methods: c.Config.Solver.Methods, Seed: c.Config.Solver.Seed, Index: c.Config.Index.Method,
				Settings: func(method string) (solver.Settings, error) { return clusterSettings(c, method) },
				Progress: shown.at,
			}
			results, err := cluster.Run(ctx, set)
			for i := 0; i < len(results) && err == nil && e.Export != ""; i++ {
				err = evaluate.ExportClusters(e.Export, set, results[i])
			}
			return results, err
		})
}

// clusterSettings returns the solver's settings for clustering, with given values replaced.
func clusterSettings(c *call, method string) (solver.Settings, error) {
	s, err := solver.Clustering(solver.Method(method))
	if slices.Contains(c.Config.Solver.Presets, "paper") {
		s.Start = solver.StartKMeans
		s.Paper.HardStep, s.Paper.ResetAssignments = true, true
	}
	return withGiven(s, c.Config.Solver, err)
}

var evalPaperCommand = command{
	name: "eval paper", args: "--data ROOT",
	short: "the clustering experiments of the paper, ours beside its figures",
	long: "Run the rows of the paper's clustering table whose data are folders under ROOT (mnist, shuttle), and the energies of SLK\n" +
		"against LK over lambda; print them beside the paper's own figures, and say which rows cannot be run and why. Ours is the\n" +
		"median of five seeds, each baseline one run.",
	example: "  slkstream eval paper --data ./sets --plots ./plots",
	run:     evalPaper,
}

func evalPaper(ctx context.Context, c *call) error {
	e := c.Config.Evaluate
	if len(e.Data) != 1 {
		return usagef("data: %d folders: eval paper takes the one that holds the folders of the sets", len(e.Data))
	}
	if _, err := clusterSettings(c, "slk-ms"); err != nil {
		return err
	}
	steps, shown := int64(0), newProgress(c)
	defer shown.end()
	p := evaluate.Paper{
		Root: e.Data[0], Seed: c.Config.Solver.Seed, Trials: 5, Index: c.Config.Index.Method,
		Settings: func(method string) (solver.Settings, error) { return clusterSettings(c, method) },
		Note: func(text string) {
			steps++
			shown.at(text, steps, 0)
		},
	}
	if err := paperClustering(ctx, c, &p); err != nil {
		return err
	}
	if err := paperEnergies(ctx, c, &p); err != nil {
		return err
	}
	if !c.Config.Output.JSON {
		fmt.Fprintln(
			c.Out,
			"\nNot run: the few-shot tables (mini-ImageNet, tiered-ImageNet and CUB features of the authors' networks are not published; eval fewshot\n"+
				"runs the protocol on any features) and SpectralNet (a network that is trained on each set).",
		)
	}
	return nil
}

func paperClustering(ctx context.Context, c *call, p *evaluate.Paper) error {
	e := c.Config.Evaluate
	out := newPrinter(c, evaluate.PaperHeading)
	for _, column := range evaluate.PaperSets {
		rows, trace, err := p.Clustering(ctx, column)
		if err = cmp.Or(err, printAll(out, rows)); err != nil {
			return err
		}
		if e.Plots != "" && len(trace) > 0 {
			name := "objective-" + strings.ToLower(column.Name) + ".svg"
			if err := evaluate.PlotTrace(filepath.Join(e.Plots, name), "SLK-MS, "+column.Name, trace); err != nil {
				return err
			}
		}
	}
	return out.close()
}

func paperEnergies(ctx context.Context, c *call, p *evaluate.Paper) error {
	if kappa := c.Config.Solver.Kappa; kappa != nil {
		p.Kappa = *kappa
	}
	rows, err := p.Energies(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	if !c.Config.Output.JSON {
		fmt.Fprintf(
			c.Out,
			"\nDiscrete objective E at the end, %s, modes fitted to the labels (the paper, its own sample: LK 273.25, SLK-MS 67.09)\n",
			rows[0].Data,
		)
	}
	if folder := c.Config.Evaluate.Plots; folder != "" {
		if err := evaluate.PlotEnergies(filepath.Join(folder, "energy.svg"), rows); err != nil {
			return err
		}
	}
	return results(c, evaluate.EnergyHeading, rows)
}
