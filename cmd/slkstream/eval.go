package main

import (
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

// results prints the results of a measurement: JSON, or a table with this heading.
func results[R interface{ Row() string }](c *call, heading string, list []R) error {
	p := newPrinter(c, heading)
	for _, r := range list {
		if err := p.row(r); err != nil {
			return err
		}
	}
	return p.close()
}

// row prints one result.
func (p *printer) row(r interface{ Row() string }) error { return p.print(r, "%s", r.Row()) }
