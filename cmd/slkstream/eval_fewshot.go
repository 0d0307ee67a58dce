package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
)

func newEvalFewShotCommand() *cobra.Command {
	return withSettings("eval fewshot", &cobra.Command{
		Use:   "fewshot --data DIR,...",
		Short: "accuracy on few-shot tasks drawn from labelled data",
		Long: "Draw few-shot tasks from labelled data and solve them: N labelled rows of each of K classes, and queries. Every method\n" +
			"and preset sees the same tasks, and is compared with the first one task by task. The mean and the metric come from\n" +
			"classes that no task draws.",
		Example: "  slkstream eval fewshot --data ./features --shots 1,5 --mix balanced,dirichlet:2 --preset default,paper",
	}, evalFewShot)
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
	p := newPrinter(c, "data\tshots\tmix\tpreset\tmethod\taccuracy %\t± 95 %\tagainst the first\t± 95 %\ttask µs\titerations\trises\tlost\t")
	summary := evaluate.NewSummary()
	for _, set := range sets {
		few.Progress = progressOf(c, set.Name+" tasks")
		results, err := few.Run(ctx, set)
		if err != nil {
			return err
		}
		for _, r := range results {
			versus := "\t"
			if r.Paired != nil {
				versus = fmt.Sprintf("%+.2f\t%.2f", r.Paired.Difference, r.Paired.CI95)
			}
			if err := p.print(r, "%s\t%d\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%.0f\t%.1f\t%d\t%d\t", r.Data, r.Shots, r.Mix,
				r.Preset, r.Method,
				r.Accuracy, r.CI95, versus, r.EpisodeMicros, r.Iterations, r.ObjectiveRises, r.LostSupports); err != nil {
				return err
			}
			summary.Add(r)
		}
	}
	if err := p.close(); err != nil || c.Config.Evaluate.JSON {
		return err
	}
	fmt.Fprintln(c.Out)
	p = newPrinter(c, "mean over sets, then shots and mixes\tpreset\tmethod\taccuracy %\t± 95 %\tagainst the first\t± 95 %\t")
	for _, m := range summary.Means() {
		versus := "\t"
		if m.Versus != nil {
			versus = fmt.Sprintf("%+.2f\t%.2f", m.Versus.Mean, m.Versus.CI95)
		}
		if err := p.print(nil, "%s\t%s\t%s\t%.2f\t%.2f\t%s\t", m.Cells, m.Preset, m.Method, m.Accuracy.Mean,
			m.Accuracy.CI95, versus); err != nil {
			return err
		}
	}
	return p.close()
}

// fewShot builds the protocol from the settings, without its candidates.
func fewShot(c *call) (*evaluate.FewShot, error) {
	e := c.Config.Evaluate
	f := &evaluate.FewShot{
		Ways: e.Ways, Tasks: e.Tasks, Seed: c.Config.Solver.Seed, SplitSeed: e.SplitSeed,
		MetricEpisodes: e.MetricEpisodes,
	}
	var err error
	if f.Shots, err = wholeNumbers(e.Shots); err != nil {
		return nil, err
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
		f.Novel = novel.Integers
	}
	return f, nil
}
