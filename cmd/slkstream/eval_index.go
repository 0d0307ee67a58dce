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
	sets, err := evaluate.ReadSets(c.Config.Evaluate.Data)
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
