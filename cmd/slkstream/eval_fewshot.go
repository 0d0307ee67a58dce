package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
)

var evalFewshotCommand = command{
	name: "eval fewshot", args: "--data DIR,...",
	short: "accuracy on few-shot tasks drawn from labelled data",
	long: "Draw few-shot tasks from labelled data and solve them: N labelled rows of each of K classes, and queries. Every method\n" +
		"and preset sees the same tasks, and is compared with the first one task by task. The mean and the metric come from\n" +
		"classes that no task draws.",
	example: "  slkstream eval fewshot --data ./features --shots 1,5 --mix balanced,dirichlet:2 --preset default,paper",
	run:     evalFewShot,
}

func evalFewShot(ctx context.Context, c *call) error {
	few, err := fewShot(c)
	if err != nil {
		return err
	}
	if few.Candidates, err = candidates(c.Config); err != nil {
		return err
	}
	sets, err := evaluate.ReadSets(c.Config.Evaluate.Data)
	if err != nil {
		return err
	}
	for _, set := range sets {
		split, cells, err := few.Draw(set)
		if err != nil {
			return err
		}
		if folder := c.Config.Evaluate.Export; folder != "" {
			if err := evaluate.ExportTasks(folder, set, split, cells); err != nil {
				return err
			}
		}
	}
	summary := evaluate.NewSummary()
	if err := measure(c, evaluate.FewShotHeading, sets,
		func(set *evaluate.Set, shown *progress) ([]evaluate.FewShotResult, error) {
			few.Progress = func(done, of int) { shown.at(set.Name+" tasks", int64(done), int64(of)) }
			results, err := few.Run(ctx, set)
			for _, r := range results {
				summary.Add(r)
			}
			return results, err
		}); err != nil || c.Config.Output.JSON {
		return err
	}
	fmt.Fprintln(c.Out)
	return results(c, evaluate.FewShotMeanHeading, summary.Means())
}

// fewShot builds the protocol from the settings, without its candidates.
func fewShot(c *call) (*evaluate.FewShot, error) {
	e := c.Config.Evaluate
	f := &evaluate.FewShot{
		Ways: e.Ways, Tasks: e.Tasks, Seed: c.Config.Solver.Seed, SplitSeed: e.SplitSeed,
		MetricEpisodes: e.MetricEpisodes, Shots: e.ShotCounts(),
	}
	for _, name := range e.Mixes {
		mix, err := evaluate.ParseMix(name)
		if err != nil {
			return nil, usageError{err}
		}
		f.Mixes = append(f.Mixes, mix)
	}
	if len(f.Mixes) == 0 {
		return nil, usagef("mix names nothing: give at least one of balanced, dirichlet:A, absent")
	}
	if e.Novel != "" {
		novel, err := array.ReadIntegers(e.Novel)
		if err != nil {
			return nil, fmt.Errorf("novel: %w", err)
		}
		f.Novel = novel
	}
	return f, nil
}
