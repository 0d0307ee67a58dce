package main

import (
	"context"
	"fmt"
	"slices"

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
	sets, err := evaluate.ReadSets(e.Data)
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
	if err != nil {
		return s, usageError{err}
	}
	if slices.Contains(c.Config.Solver.Presets, "paper") {
		s.Start = solver.StartKMeans
		s.Paper.HardStep, s.Paper.ResetAssignments = true, true
	}
	s.Seed = c.Config.Solver.Seed
	giveNumbers(&s, c.Config.Solver)
	if _, err := solver.New(s); err != nil {
		return s, usageError{err}
	}
	return s, nil
}
