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
	e := c.Config.Evaluate
	sets, err := evaluate.ReadSets(e.Data)
	if err != nil {
		return err
	}
	trials := evaluate.Trials{
		Sets: sets, Shots: e.ShotCounts(), Count: e.Trials, Seed: c.Config.Solver.Seed,
		Protocol: evaluate.StreamProtocol{
			Order: e.Order, Episode: 100, SupportBy: "class", TeachBy: "random",
			UnlabelledClasses: e.UnlabelledClasses, WrongSupports: e.WrongSupports, VectorRows: e.VectorRows,
		},
	}
	if err := trials.Draw(func(shots int) string {
		if e.Export == "" {
			return ""
		}
		return fmt.Sprintf("%s/%d-shot", e.Export, shots)
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
	return printMeans(c, &trials)
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
