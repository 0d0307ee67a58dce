package main

import (
	"context"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/evaluate"
)

var evalIndexCommand = command{
	name: "eval index", args: "--data DIR",
	short: "recall and time of the neighbour search",
	long: "Find the neighbours of every row, and check a sample of rows against a search of all. Recall is counted by distance, so\n" +
		"that ties are right. Query time is one search among all rows held in memory.",
	example: "  slkstream eval index --data ./mnist --neighbours 5 --index auto",
	run:     evalIndex,
}

func evalIndex(ctx context.Context, c *call) error {
	e := c.Config.Evaluate
	sets, err := evaluate.ReadSets(e.Data)
	if err != nil {
		return err
	}
	p := newPrinter(c, evaluate.NeighbourHeading)
	for _, set := range sets {
		shown := newProgress(c)
		o := index.Options{
			Method: c.Config.Index.Method, RecallFloor: c.Config.Index.RecallFloor,
			Seed: c.Config.Solver.Seed, Progress: shown.at,
		}
		r, err := evaluate.MeasureNeighbours(ctx, set, e.Neighbours, o, c.Config.Solver.Seed)
		shown.end()
		if err != nil {
			return err
		}
		if err := p.row(r); err != nil {
			return err
		}
	}
	return p.close()
}
