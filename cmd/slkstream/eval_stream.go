package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

var evalStreamCommand = command{
	name: "eval stream", args: "--data DIR",
	short: "accuracy over a stream, as the stage learns from it",
	long: "Turn labelled data into a stream, answer it episode by episode as the stage does, and score every item\n" +
		"that carries no label; first answers are those that items get before their episode closes. --shots 0 finds\n" +
		"clusters with stable ids instead. --warm=false answers each episode from the labels alone. 1nn,\n" +
		"running-mean, ridge, logistic, and the updates of TransCLIP, StatA, PADDLE and alpha-TIM as --method are\n" +
		"rivals with the same labels.",
	example: "  slkstream eval stream --data ./features --order bursts --shots 1,5 --trials 5\n" +
		"  slkstream eval stream --data ./features --teach 0.03 --method slk-means,1nn,ridge",
	run: evalStream,
}

func evalStream(ctx context.Context, c *call) error {
	runs, err := streamRuns(c)
	if err != nil {
		return err
	}
	trials, err := newTrials(c)
	if err != nil {
		return err
	}
	if err := trials.Draw(func(int) string { return c.Config.Evaluate.Export }); err != nil {
		return err
	}
	p := newPrinter(c, evaluate.StreamHeading)
	trials.Progress = progressOf(c, "streams")
	if err := trials.Streams(ctx, runs, func(r evaluate.StreamResult) error { return p.row(r) }); err != nil {
		return err
	}
	if err := p.close(); err != nil || p.json || trials.Count == 1 && len(runs) == 1 {
		return err
	}
	return printMeans(c, trials)
}

// streamRuns returns the stage with every preset and method named, and the rivals named.
func streamRuns(c *call) ([]evaluate.Stream, error) {
	of := *c.Config
	of.Solver.Methods = nil
	var rivals []string
	for _, method := range c.Config.Solver.Methods {
		if slices.Contains(evaluate.Rivals, method) {
			rivals = append(rivals, method)
		} else {
			of.Solver.Methods = append(of.Solver.Methods, method)
		}
	}
	settings, err := memorySettings(&of)
	if err != nil {
		return nil, err
	}
	var runs []evaluate.Stream
	if len(of.Solver.Methods) > 0 || len(rivals) == 0 {
		ours, err := candidates(&of)
		if err != nil {
			return nil, err
		}
		for _, candidate := range ours {
			s := settings
			s.Solver = candidate.Settings
			s.Solver.Check = true
			if err := s.Validate(); err != nil {
				return nil, usageError{err}
			}
			runs = append(runs, evaluate.Stream{Settings: s, Method: candidate.Method, Preset: candidate.Preset})
		}
	}
	for _, rival := range rivals {
		if slices.Contains(c.Config.Evaluate.ShotCounts, 0) {
			return nil, usagef("shots is 0, which scores clusters, and method %s needs labelled rows", rival)
		}
		runs = append(runs, evaluate.Stream{Settings: settings, Method: rival})
	}
	return runs, nil
}

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
	// names are what --class-vectors of label are, not examples
	trials.Protocol.ByName, trials.Protocol.NameTaught = trials.Protocol.NameTaught, false
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

// newTrials returns the trials of streams or files that the settings describe.
func newTrials(c *call) (*evaluate.Trials, error) {
	e := c.Config.Evaluate
	sets, err := readSets(c.Config)
	if err != nil {
		return nil, err
	}
	trials := &evaluate.Trials{
		Sets: sets, Shots: e.ShotCounts, Count: e.Trials, Seed: c.Config.Solver.Seed,
		Protocol: evaluate.StreamProtocol{
			Episode: cmp.Or(c.Config.Stage.EpisodeSize, 100), VectorRows: e.VectorRows, NameTaught: e.Names, MinRows: e.MinRows,
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
