package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// The solver's speed compared with scikit-learn on the same rows, in four sections that can
// be run separately.
var (
	solverSection       = inFolder("solver", "Solver speed: an episode", solverEpisodes)
	solverLargeSection  = inFolder("solver-large", "Solver speed: many rows and classes", solverLarge)
	solverImagesSection = inFolder("solver-images", "Solver speed: clusters of images, graph included",
		solverImages)
	solverGrowthSection = inFolder("solver-growth", "Solver speed: a point's cost as rows grow", solverScaling)
)

// inFolder returns a section that exchanges files with peers in a temporary folder.
func inFolder(name, title string, run func(context.Context, *bench, string) error) section {
	return section{name: name, title: title, run: func(ctx context.Context, b *bench) error {
		folder, err := os.MkdirTemp("", "slkstream-solver-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		return run(ctx, b, folder)
	}}
}

// gaussians returns n rows around k centres, row p around centre p mod k.
func gaussians(seed uint64, n, d, k int, spread float64) ([]float32, []int32) {
	random := rand.New(rand.NewPCG(seed, 2))
	centres := make([]float64, k*d)
	for i := range centres {
		centres[i] = random.NormFloat64()
	}
	rows, truth := make([]float32, n*d), make([]int32, n)
	for p := range n {
		truth[p] = int32(p % k)
		for i := range d {
			rows[p*d+i] = float32(centres[p%k*d+i] + spread*random.NormFloat64())
		}
	}
	return rows, truth
}

// sameClass joins each row with rho others of its class. It gives a graph, as searching for one costs more
// than the solve.
func sameClass(truth []int32, k, rho int) *index.Affinity {
	random := rand.New(rand.NewPCG(3, 3))
	members := make([][]int32, k)
	for p, y := range truth {
		members[y] = append(members[y], int32(p))
	}
	lists := &index.Neighbours{N: len(truth), Rho: rho, IDs: make([]int32, len(truth)*rho)}
	for p, y := range truth {
		list := lists.IDs[p*rho : p*rho+rho]
		for j := range list {
			q := int32(p)
			for q == int32(p) || slices.Contains(list[:j], q) {
				q = members[y][random.IntN(len(members[y]))]
			}
			list[j] = q
		}
	}
	return lists.Symmetric()
}

// solverEpisodes measures one episode from raw rows to labels, on one core, with a metric learned
// from earlier episodes.
func solverEpisodes(ctx context.Context, b *bench, folder string) error {
	b.Text(
		"One episode from raw float32 rows to labels on one core: power, metric of rank 32, graph, solve; preset `default`, 5 labelled rows a class. scikit-learn: the fit alone, on rows that are embedded already; KMeans starts from the support means. Medians of %d rounds of 200 episodes.",
		b.Rounds(),
	)
	var table [][]string
	for _, size := range []struct{ n, d, k int }{{100, 512, 5}, {400, 1280, 20}} {
		settings, err := solver.Preset("default").Settings()
		if err != nil {
			return err
		}
		solve, err := solver.New(settings)
		if err != nil {
			return err
		}
		scatter := metric.NewScatter(size.d)
		embedding := &solver.Embedding{Mean: make([]float32, size.d)}
		var p *solver.Problem
		var rows []float32
		for seed := range uint64(9) {
			var truth []int32
			rows, truth = gaussians(seed, size.n, size.d, size.k, 3)
			p = &solver.Problem{
				Rows: solver.Matrix(rows, size.d), K: size.k, Labels: make([]int32, size.n),
				Embedding: embedding,
			}
			for i := range p.Labels {
				if p.Labels[i] = -1; i < 5*size.k {
					p.Labels[i] = truth[i]
				}
			}
			x, err := solve.Embed(p)
			if err != nil {
				return err
			}
			r, err := x.Solve(ctx)
			if err != nil {
				return err
			}
			scatter.Update(metric.Episode{Z: x.Z(), S: r.S, Labels: p.Labels, K: p.K})
		}
		if embedding.Metric, err = scatter.Refresh(settings.MetricRank, settings.MetricShrink); err != nil {
			return err
		}
		if embedding.Metric == nil {
			return fmt.Errorf("no metric from 9 episodes of %d rows", size.n)
		}
		if err := array.WriteNPYFile(filepath.Join(folder, "episode.npy"), rows, size.n, size.d); err != nil {
			return err
		}
		if err := array.WriteNPYFile(filepath.Join(folder, "labels.npy"), p.Labels, size.n); err != nil {
			return err
		}
		var theirs struct{ KMeans, Spreading []float64 }
		ours := func() (float64, error) {
			var times []time.Duration
			for range 200 {
				from := time.Now()
				if _, err := solve.Solve(ctx, p); err != nil {
					return 0, err
				}
				times = append(times, time.Since(from))
			}
			slices.Sort(times)
			return float64(times[100].Nanoseconds()) / 1e3, nil
		}
		measures := []func() (float64, error){ours}
		if b.Has("scikit-learn") == nil {
			measures = append(measures, func() (float64, error) {
				var seen struct{ KMeans, Spreading float64 }
				err := b.Python(ctx, 1, &seen, "solver.py", "episode", folder)
				theirs.KMeans, theirs.Spreading = append(theirs.KMeans, seen.KMeans), append(theirs.Spreading,
					seen.Spreading)
				return seen.KMeans, err
			})
		}
		medians, err := b.Alternate(measures...)
		if err != nil {
			return err
		}
		row := []string{
			fmt.Sprintf("N %d, d %d, K %d", size.n, size.d, size.k), fmt.Sprintf("%.0f", medians[0]),
			"", "", "", "",
		}
		if len(medians) > 1 {
			spreading := evaluate.Median(theirs.Spreading)
			row = append(row[:2], fmt.Sprintf("%.0f", medians[1]), fmt.Sprintf("%.1f", medians[1]/medians[0]),
				fmt.Sprintf("%.0f", spreading), fmt.Sprintf("%.1f", spreading/medians[0]))
		}
		table = append(table, row)
		b.Figure(fmt.Sprintf("solver.episode.%d", size.n), "%.0f µs", medians[0])
	}
	b.Table([]string{"episode", "ours µs", "KMeans µs", "times ours", "LabelSpreading µs", "times ours"}, table)
	return nil
}

// solverLarge measures a whole set of many classes with a given graph: 12 prototype steps against 12 Lloyd
// iterations, with well separated centres that every method finds, and with overlapping ones.
func solverLarge(ctx context.Context, b *bench, folder string) error {
	n, d, k := 100_000, 128, 100
	if b.Quick {
		n, k = 10_000, 70
	}
	b.Text(
		"%d x %d rows, K = %d, rho 5, given graph, at most 12 prototype steps from one row a class, %d threads; scikit-learn from the same rows: at most 12 Lloyd iterations of KMeans, 12 of GaussianMixture (spherical), run once. Theirs stop when nothing changes any more, ours when S moves less than its rounding. Ours compares all rows with all prototypes as they do, sums the prototypes from a soft S, and walks the graph.",
		n,
		d,
		k,
		runtime.GOMAXPROCS(0),
	)
	var table [][]string
	for _, spread := range []float64{1, 3} {
		row, err := manyClasses(ctx, b, folder, n, d, k, spread)
		if err != nil {
			return err
		}
		table = append(table, row)
	}
	b.Table([]string{
		"spread of a class", "ours s", "steps", "KMeans s", "steps", "GaussianMixture s",
		"KMeans times ours", "a step", "by CPU",
	}, table)
	return nil
}

// manyClasses times one set of solverLarge and returns its row of the table.
func manyClasses(ctx context.Context, b *bench, folder string, n, d, k int,
	spread float64,
) ([]string, error) {
	rows, truth := gaussians(1, n, d, k, spread)
	graph := sameClass(truth, k, 5)
	start := make([]float32, k*d)
	for c := range k { // both start from the same rows
		copy(start[c*d:c*d+d], rows[c*d:c*d+d])
	}
	for name, values := range map[string][]float32{"rows.npy": rows, "start.npy": start} {
		if err := array.WriteNPYFile(filepath.Join(folder, name), values, len(values)/d, d); err != nil {
			return nil, err
		}
	}
	settings, err := solver.Clustering(solver.SLKMeans)
	if err != nil {
		return nil, err
	}
	settings.Outer, settings.Inner, settings.Tolerance, settings.Tau = 12, 1, 0, 5
	solve, err := solver.New(settings)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, n)
	for i := range labels {
		if labels[i] = -1; i < k {
			labels[i] = truth[i]
		}
	}
	row := []string{fmt.Sprintf("%g", spread), "", "", "", "", "", "", "", ""}
	var steps int
	var cpu, theirCPU []float64
	ours := func() (float64, error) {
		from, used := time.Now(), processSeconds()
		r, err := solve.Solve(ctx, &solver.Problem{
			Rows: solver.Matrix(rows, d), K: k, Labels: labels, Graph: solver.GraphOf(graph),
		})
		if err != nil {
			return 0, err
		}
		steps, cpu = r.Iterations, append(cpu, processSeconds()-used)
		return time.Since(from).Seconds(), nil
	}
	measures := []func() (float64, error){ours}
	var lloyd struct {
		Seconds, CPU float64
		Steps        int
	}
	if b.Has("scikit-learn") == nil {
		r, err := b.Runner(ctx, 0, "solver.py", "lloyd", folder)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Stop() }()
		if err := r.Next(&lloyd); err != nil { // its first fit also loads libraries
			return nil, err
		}
		measures = append(measures, func() (float64, error) {
			err := r.Again(&lloyd)
			theirCPU = append(theirCPU, lloyd.CPU)
			return lloyd.Seconds, err
		})
	}
	medians, err := b.Alternate(measures...)
	if err != nil {
		return nil, err
	}
	row[1], row[2] = fmt.Sprintf("%.2f", medians[0]), fmt.Sprint(steps)
	if len(medians) > 1 {
		ratio := medians[1] / medians[0]
		row[3], row[4] = fmt.Sprintf("%.2f", medians[1]), fmt.Sprint(lloyd.Steps)
		row[6], row[7] = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.2f", ratio*float64(steps)/float64(lloyd.Steps))
		row[8] = fmt.Sprintf("%.2f", evaluate.Median(theirCPU)/evaluate.Median(cpu))
		b.Figure(fmt.Sprintf("solver.large.ratio.%g", spread), "%.2f", ratio)
		if !b.Quick {
			var mixture float64
			if err := b.Python(ctx, 0, &mixture, "solver.py", "mixture", folder); err != nil {
				return nil, err
			}
			row[5] = fmt.Sprintf("%.2f", mixture)
		}
	}
	return row, nil
}

// solverImages measures a set of images clustered from raw rows, with the graph, against k-means with ten
// starts and a graph by pynndescent. Each runs once, as they take minutes.
func solverImages(ctx context.Context, b *bench, folder string) error {
	folders, forget, err := b.Sets("mnist")
	if err != nil {
		return err
	}
	defer forget()
	sets, err := evaluate.ReadSets(folders[:1])
	if err != nil {
		return err
	}
	set, k := b.some(sets[0]), 10
	if err := array.WriteNPYFile(filepath.Join(folder, "rows.npy"), set.Rows, set.N, set.D); err != nil {
		return err
	}
	settings, err := solver.Clustering(solver.SLKModes)
	if err != nil {
		return err
	}
	solve, err := solver.New(settings)
	if err != nil {
		return err
	}
	from := time.Now()
	r, err := solve.Solve(ctx, &solver.Problem{
		Rows: solver.Matrix(set.Rows, set.D), K: k,
		Embedding: &solver.Embedding{Mean: make([]float32, set.D)},
	})
	if err != nil {
		return err
	}
	ours := time.Since(from).Seconds()
	b.Text(
		"%s, %d x %d, %d clusters from raw rows, %d threads, one run: slk-ms with its graph, against scikit-learn's KMeans (k-means++, 10 starts) and pynndescent's graph on the same rows at length 1. NMI by the labels.",
		set.Name,
		set.N,
		set.D,
		k,
		runtime.GOMAXPROCS(0),
	)
	row := []string{
		fmt.Sprintf("%.1f", ours), fmt.Sprintf("%.3f", evaluate.NMI(set.Labels, r.Labels)), "", "",
		"",
	}
	b.Figure("solver.images.seconds", "%.1f", ours)
	if err := b.Has("scikit-learn", "pynndescent"); err != nil {
		b.Missing("KMeans and pynndescent", err)
	} else {
		var theirs struct {
			KMeans, Graph float64
			Labels        []int32
		}
		if err := b.Python(ctx, 0, &theirs, "solver.py", "images", folder); err != nil {
			return err
		}
		row = append(row[:2], fmt.Sprintf("%.1f", theirs.KMeans), fmt.Sprintf("%.1f", theirs.Graph),
			fmt.Sprintf("%.3f", evaluate.NMI(set.Labels, theirs.Labels)))
		b.Figure("solver.images.ratio", "%.2f", (theirs.KMeans+theirs.Graph)/ours)
	}
	b.Table([]string{"ours s", "NMI", "KMeans s", "graph s", "NMI"}, [][]string{row})
	return nil
}

// solverScaling measures the cost per point and sweep for growing N.
func solverScaling(ctx context.Context, b *bench, _ string) error {
	sizes := []int{10_000, 100_000, 1_000_000}
	if b.Quick {
		sizes = sizes[:2]
	}
	const d, k = 64, 10
	var table [][]string
	var costs []float64
	for _, n := range sizes {
		rows, truth := gaussians(1, n, d, k, 1)
		graph := sameClass(truth, k, 5)
		settings, err := solver.Clustering(solver.SLKMeans)
		if err != nil {
			return err
		}
		settings.Start, settings.Outer, settings.Inner, settings.Tolerance = solver.StartKMeans, 12, 1, 0
		solve, err := solver.New(settings)
		if err != nil {
			return err
		}
		var last time.Time
		var sweeps []time.Duration
		p := &solver.Problem{Rows: solver.Matrix(rows, d), K: k, Graph: solver.GraphOf(graph), Progress: func(int, int) {
			if now := time.Now(); !last.IsZero() {
				sweeps = append(sweeps, now.Sub(last))
				last = now
			} else {
				last = now
			}
		}}
		rounds := b.Rounds()
		if n >= 1_000_000 { // eleven sweeps are enough
			rounds = 1
		}
		for range rounds {
			last = time.Time{}
			if _, err := solve.Solve(ctx, p); err != nil {
				return err
			}
		}
		slices.Sort(sweeps)
		cost := float64(sweeps[len(sweeps)/2].Nanoseconds()) / float64(n)
		costs = append(costs, cost)
		table = append(table, []string{
			fmt.Sprint(n), fmt.Sprintf("%.0f", cost),
			fmt.Sprintf("%.2f", cost/costs[0]),
		})
	}
	b.Text("A point's cost in one sweep and one prototype step: d = %d, K = %d, rho 5, given graph, %d threads.",
		d, k, runtime.GOMAXPROCS(0))
	b.Table([]string{"N", "ns a point", "times the smallest"}, table)
	b.Figure("solver.scaling", "%.2f", costs[len(costs)-1]/costs[0])
	return nil
}
