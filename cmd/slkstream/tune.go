package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

var tuneCommand = command{
	name: "tune", args: "--data DIR,...",
	short: "choose lambda, rho, tau and beta on labelled data, write a solver file",
	long: "Measure on labelled data what a user runs: with --for stream a stream that learns, as run does; with --for tasks\n" +
		"few-shot tasks on their own, as run does with --warm=false; with --for file a whole file, as label does. Lambda, rho, tau\n" +
		"and beta are chosen by successive halving: many settings on little, the better third on more. All see the same. The\n" +
		"defaults stay unless others beat them beyond the 95 % interval of the difference: then nothing is written. Else the\n" +
		"result is a file of every number, which run, backfill, demo and label take with --solver. Without --output it goes to\n" +
		"stdout and the table to stderr.",
	example: "  slkstream tune --for stream --data ./features --shots 5 --output solver.yaml\n" +
		"  slkstream run --in embeddings --out results --solver solver.yaml",
	run: tune,
}

func tune(ctx context.Context, c *call) error {
	search, err := tuneSearch(ctx, c)
	if err != nil {
		return err
	}
	output := c.Config.Files.Output
	file, err := createFile(c, "output", output)
	if err != nil {
		return err
	}
	defer file.Discard()
	rows, err := search.Run(ctx)
	if err != nil {
		return err
	}
	table := *c
	if output == "" && !c.Config.Output.JSON {
		table.Out = c.Err
	}
	if err := results(&table, evaluate.TuneHeading, rows); err != nil {
		return err
	}
	best := rows[0]
	if by, err := solverSettings(config.Solver{Seed: c.Config.Solver.Seed}); err == nil && best.Settings == by {
		if !c.Config.Output.JSON { // JSON rows contain it
			c.Log.Info("the defaults stay: nothing is written", "for", c.Config.Solver.For)
		}
		return nil
	}
	heading := fmt.Sprintf("slkstream tune --for %s: accuracy %.2f %%, %+.2f ± %.2f against the start on the same %d of each cell.",
		c.Config.Solver.For, best.Accuracy, best.Difference, best.CI95, best.Units)
	values := solverValues(c.Config.Solver.For, best.Settings)
	switch {
	case file != nil:
		if err = config.WriteSolver(file, heading, values); err == nil {
			err = file.Commit(0o644)
		}
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		c.Log.Info("written", "file", output, "use", "--solver "+output)
	case !c.Config.Output.JSON:
		return config.WriteSolver(c.Out, heading, values)
	}
	return nil
}

// tuneSearch prepares the measurements.
func tuneSearch(ctx context.Context, c *call) (*evaluate.Tune, error) {
	trials, err := newTrials(c)
	if err != nil {
		return nil, err
	}
	e := c.Config.Evaluate
	start, err := solverSettings(c.Config.Solver)
	if err != nil {
		return nil, err
	}
	search := &evaluate.Tune{
		Start: start, Drawn: 27, Units: e.Trials, Seed: c.Config.Solver.Seed, Progress: progressOf(c, "settings"),
	}
	if c.Config.Solver.For == "tasks" {
		few, err := fewShot(c)
		if err != nil {
			return nil, err
		}
		few.Candidates = []evaluate.Candidate{{Method: string(start.Method), Settings: start}}
		search.Drawn, search.Units = 54, e.Tasks
		search.Measure, err = few.TaskMeasure(ctx, trials.Sets, start)
		return search, err
	}
	if c.Config.Solver.For == "file" {
		search.Measure = trials.Measure(fileAccuracy(c))
	} else {
		search.Measure = trials.Measure(streamAccuracy)
	}
	return search, nil
}

// streamAccuracy returns the share of a stream that run would label right.
func streamAccuracy(ctx context.Context, s solver.Settings, protocol evaluate.StreamProtocol,
	set *evaluate.Set, seed uint64,
) (float64, error) {
	run := evaluate.Stream{Protocol: protocol, Settings: stream.Defaults(), Method: string(s.Method)}
	run.Settings.Solver = s
	r, err := run.Run(ctx, set, seed)
	if err != nil || r.Accuracy == nil {
		return 0, err
	}
	return *r.Accuracy, nil
}

// fileAccuracy measures the share of a file that label would label right. It starts from label's own
// settings, which depend on the file, until others are tried.
func fileAccuracy(c *call) func(context.Context, solver.Settings, evaluate.StreamProtocol, *evaluate.Set,
	uint64) (float64, error) {
	start, failed := solverSettings(c.Config.Solver)
	return func(ctx context.Context, s solver.Settings, protocol evaluate.StreamProtocol, set *evaluate.Set,
		seed uint64,
	) (float64, error) {
		settings := fileSettings(c)
		if failed != nil || s != start {
			giveFile(&settings, config.Solver{
				Lambda: &s.Lambda, Tau: &s.Tau, Pull: &s.Pull, Beta: &s.Beta, PriorCounts: &s.PriorCounts, LabelWeight: &s.LabelWeight, Rho: &s.Rho,
				Outer: &s.Outer, Inner: &s.Inner, Tolerance: &s.Tolerance, Power: &s.Power, MetricRank: &s.MetricRank,
				MetricShrink: &s.MetricShrink,
			})
		}
		r, err := (&evaluate.File{Protocol: protocol, Method: "default", Settings: settings}).Run(ctx, set, seed)
		return r.Accuracy, err
	}
}
