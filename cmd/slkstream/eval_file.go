package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

var evalFileCommand = command{
	name: "eval file", args: "--data DIR",
	short: "accuracy of labelling a whole file from a few labels",
	long: "Draw a few labelled rows of each class, label all other rows of the set as one file, as the label command does, and " +
		"score them. --method names known methods on the same rows, and episodes, which is the stage over the file as a stream. " +
		"--export writes the files for other tools.",
	example: "  slkstream eval file --data ./features --shots 1,3,5 --order bursts --trials 3\n" +
		"  slkstream eval file --data ./features --method default,episodes,poisson,laplace",
	run: evalFile,
}

func evalFile(ctx context.Context, c *call) error {
	trials, err := newTrials(c)
	if err != nil {
		return err
	}
	if err := trials.Draw(func(shots int) string {
		if folder := c.Config.Evaluate.Export; folder != "" {
			return fmt.Sprintf("%s/%d-shot", folder, shots)
		}
		return ""
	}); err != nil {
		return err
	}
	run := evaluate.File{Settings: fileSettings(c), Episodes: stream.Defaults()}
	run.Settings.Check = true
	p := newPrinter(c, evaluate.FileHeading)
	trials.Progress = progressOf(c, "files")
	if err := trials.Files(ctx, run, c.Config.Solver.Methods,
		func(r evaluate.FileResult) error { return p.row(r) }); err != nil {
		return err
	}
	if err := p.close(); err != nil || p.json {
		return err
	}
	return printMeans(c, trials)
}
