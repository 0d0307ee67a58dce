package main

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/file"
)

// solveByMethod returns a function that solves a file as one episode by one of the solver's other methods or
// presets. The file must fit into memory.
func solveByMethod(c *call) (func(context.Context, *labelledFile) (*file.Result, error), error) {
	if c.Config.Files.K == config.Auto {
		return nil, usageError{errors.New("k is auto: only the method slk-means finds the number of clusters")}
	}
	settings, err := solverSettings(c.Config.Solver)
	if c.Config.Files.K != 0 {
		settings, err = clusterSettings(c, c.Config.Solver.Method())
	}
	if err != nil {
		return nil, err
	}
	settings.Index, settings.RecallFloor = c.Config.Index.Method, c.Config.Index.RecallFloor
	engine, err := solver.New(settings)
	if err != nil {
		return nil, usageError{err}
	}
	return func(ctx context.Context, f *labelledFile) (*file.Result, error) {
		var rows []float32
		var labels []int32
		if err := f.Read(func(row []float32, class int32) error {
			rows, labels = append(rows, row...), append(labels, class)
			return nil
		}); err != nil {
			return nil, err
		}
		p := &solver.Problem{
			Rows: solver.Matrix(rows, f.D), K: f.K, Labels: labels,
			Examples: solver.Labelled(solver.Matrix(f.Support.Values, f.D), f.SupportClasses),
		}
		if len(f.names) == 0 {
			p.Embedding = &solver.Embedding{Mean: make([]float32, f.D)}
			lists, err := index.Build(ctx, rows, f.N, f.D, index.Options{
				Rho: min(settings.Rho, f.N-1), Method: settings.Index, RecallFloor: settings.RecallFloor,
				Seed: settings.Seed, Cosine: true,
			})
			if err != nil {
				return nil, err
			}
			p.Graph = solver.GraphOf(lists.Symmetric())
		}
		solved, err := engine.Solve(ctx, p)
		if err != nil {
			return nil, err
		}
		r := &file.Result{K: f.K, Labels: solved.Labels, UnknownLimit: math.Inf(1)}
		if len(f.names) > 0 {
			r.Confidence = solved.Assess().Confidence
			return r, nil
		}
		for row := range slices.Chunk(solved.S, p.K) {
			r.Confidence = append(r.Confidence, slices.Max(row))
		}
		return r, nil
	}, nil
}
