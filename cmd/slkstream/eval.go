package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
)

var evalCommand = command{
	name: "eval", short: "measure on labelled data: fewshot, cluster, stream, file, index, paper",
	of: []command{
		evalFewshotCommand, evalClusterCommand, evalStreamCommand, evalFileCommand, evalIndexCommand,
		evalPaperCommand,
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
				return nil, usageError{err}
			}
			if _, err := solver.New(s); err != nil {
				return nil, usagef("preset %s: %w", preset, err)
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
		for _, r := range list {
			err = cmp.Or(err, p.row(r))
		}
		if err != nil {
			return err
		}
	}
	return p.close()
}

// results prints results: JSON, or a table with this heading.
func results[R result](c *call, heading string, list []R) error {
	p := newPrinter(c, heading)
	for _, r := range list {
		if err := p.row(r); err != nil {
			return err
		}
	}
	return p.close()
}

// row prints one result.
func (p *printer) row(r result) error { return p.print(r, "%s", r.Row()) }

// newTrials returns the trials of streams or files that the settings describe.
func newTrials(c *call) (*evaluate.Trials, error) {
	e := c.Config.Evaluate
	sets, err := evaluate.ReadSets(e.Data)
	if err != nil {
		return nil, err
	}
	trials := &evaluate.Trials{
		Sets: sets, Shots: e.ShotCounts(), Count: e.Trials, Seed: c.Config.Solver.Seed,
		Protocol: evaluate.StreamProtocol{
			Episode: cmp.Or(c.Config.Stage.EpisodeSize, 100), VectorRows: e.VectorRows, MinRows: e.MinRows,
			Drift: e.Drift, Teach: e.Teach, TeachBy: cmp.Or(e.TeachBy, "random"),
			UnlabelledClasses: e.UnlabelledClasses, Newcomers: e.Newcomers, Absent: e.Absent, Garbage: e.Garbage,
			WrongSupports: e.WrongSupports, Nobody: e.Nobody,
		},
	}
	if err := trials.Protocol.Read(e.Order, cmp.Or(e.SupportBy, "class"), e.Frame, e.Track); err != nil {
		return nil, err
	}
	if err := trials.Protocol.Validate(); err != nil {
		return nil, usageError{err}
	}
	return trials, nil
}

// printMeans prints the means over trials.
func printMeans(c *call, trials *evaluate.Trials) error {
	fmt.Fprintln(c.Out)
	p := newPrinter(c, evaluate.TrialMeanHeading)
	for _, row := range trials.Means() {
		if err := p.print(nil, "%s", row); err != nil {
			return err
		}
	}
	return p.close()
}
