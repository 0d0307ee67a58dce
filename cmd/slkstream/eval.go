package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
)

var evalCommand = command{
	name: "eval", short: "measure on labelled data: fewshot, cluster, stream, file, index, identities, paper",
	of: []command{
		evalFewshotCommand, evalClusterCommand, evalStreamCommand, evalFileCommand, evalIndexCommand,
		evalIdentitiesCommand, evalPaperCommand,
	},
}

// candidates combines every preset named with every method named, or the preset's own if none is named. Given
// settings override the preset's.
func candidates(c *config.Config) ([]evaluate.Candidate, error) {
	methods := c.Solver.Methods
	if len(methods) == 0 {
		methods = []string{""}
	}
	var out []evaluate.Candidate
	for _, preset := range c.Solver.Presets {
		for _, method := range methods {
			given := c.Solver
			given.Presets, given.Methods = []string{preset}, []string{method}
			update := slices.Contains(evaluate.Updates, method)
			if update {
				given.Methods = []string{"nearest"}
			}
			s, err := solverSettings(given)
			if err != nil {
				return nil, fmt.Errorf("preset %s: %w", preset, err)
			}
			if !update {
				method = string(s.Method)
			}
			if slices.ContainsFunc(out, func(o evaluate.Candidate) bool {
				return o.Method == method && o.Preset == preset
			}) {
				return nil, usagef("preset %s with method %s is named twice", preset, method)
			}
			out = append(out, evaluate.Candidate{Method: method, Preset: preset, Settings: s})
		}
	}
	return out, nil
}

// progressOf shows the progress of a measurement, and clears the line when it is done.
func progressOf(c *call, what string) func(done, of int) {
	p := newProgress(c)
	return func(done, of int) {
		if p.at(what, int64(done), int64(of)); done == of {
			p.end()
		}
	}
}

// result is one result of a measurement.
type result interface{ Row() string }

// measure measures each set and prints the results as they come: JSON, or a table with this heading.
func measure[R result](c *call, heading string, sets []*evaluate.Set,
	run func(*evaluate.Set, *progress) ([]R, error),
) error {
	p := newPrinter(c, heading)
	for _, set := range sets {
		shown := newProgress(c)
		list, err := run(set, shown)
		shown.end()
		if err = cmp.Or(err, printAll(p, list)); err != nil {
			return err
		}
	}
	return p.close()
}

// results prints results: JSON, or a table with this heading.
func results[R result](c *call, heading string, list []R) error {
	p := newPrinter(c, heading)
	return cmp.Or(printAll(p, list), p.close())
}

// printAll prints results up to the first error.
func printAll[R result](p *printer, list []R) error {
	for _, r := range list {
		if err := p.row(r); err != nil {
			return err
		}
	}
	return nil
}

// row prints one result.
func (p *printer) row(r result) error { return p.print(r, "%s", r.Row()) }

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
	sets, err := readSets(c.Config)
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
		MetricEpisodes: e.MetricEpisodes, Shots: e.ShotCounts,
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

var evalIndexCommand = command{
	name: "eval index", args: "--data DIR",
	short: "recall and time of the neighbour search",
	long: "Find the neighbours of every row, and check a sample of rows against a search of all. Recall is counted by distance, so\n" +
		"that ties are right. Query time is one search among all rows held in memory.",
	example: "  slkstream eval index --data ./mnist --neighbours 5 --index auto",
	run:     evalIndex,
}

func evalIndex(ctx context.Context, c *call) error {
	sets, err := readSets(c.Config)
	if err != nil {
		return err
	}
	return measure(c, evaluate.NeighbourHeading, sets,
		func(set *evaluate.Set, shown *progress) ([]evaluate.NeighbourResult, error) {
			seed := c.Config.Solver.Seed
			o := index.Options{
				Method: c.Config.Index.Method, RecallFloor: c.Config.Index.RecallFloor, Seed: seed, Progress: shown.at,
			}
			r, err := evaluate.MeasureNeighbours(ctx, set, c.Config.Evaluate.Neighbours, o, seed)
			return []evaluate.NeighbourResult{r}, err
		})
}

var evalIdentitiesCommand = command{
	name: "eval identities", args: "--data DIR,...",
	short: "one identity over several streams",
	long: "Divide labelled data among several streams, have each find its clusters, and group those of all streams into\n" +
		"identities. leaders, at-once and apart are rivals: leaders over all items in one list; average link over all items after\n" +
		"the fact, cut where it is best; and each stream's clusters as they are. half scores every second class, half-labelled\n" +
		"the same with three labelled items of each other class and stream. wait is the number of items of a class that come to\n" +
		"a further stream before its identity is there.",
	example: "  slkstream eval identities --data ./features --streams 4,16 --shift 0.2",
	run:     evalIdentities,
}

func evalIdentities(ctx context.Context, c *call) error {
	e := c.Config.Evaluate
	sets, err := readSets(c.Config)
	if err != nil {
		return err
	}
	return measure(c, evaluate.IdentityHeading, sets,
		func(set *evaluate.Set, shown *progress) (all []evaluate.IdentityResult, err error) {
			for i, streams := range e.StreamCounts {
				shown.at(set.Name+" streams", int64(i), int64(len(e.StreamCounts)))
				p := evaluate.Identities{Streams: streams, Shift: e.Shift, Seed: c.Config.Solver.Seed}
				results, err := p.Run(ctx, set)
				if err != nil {
					return nil, err
				}
				all = append(all, results...)
			}
			return all, nil
		})
}
