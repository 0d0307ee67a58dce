package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

func newEvalFileCommand() *cobra.Command {
	return withSettings("eval file", &cobra.Command{
		Use:   "file --data DIR",
		Short: "accuracy of labelling a whole file from a few labels",
		Long: "Draw a few labelled rows of each class, label all other rows of the set as one file, as the label command does, and " +
			"score them. --method names known methods on the same rows, and episodes, which is the stage over the file as a stream. " +
			"--export writes the very files for other tools.",
		Example: "  slkstream eval file --data ./features --shots 1,3,5 --order bursts --trials 3\n" +
			"  slkstream eval file --data ./features --method default,episodes,poisson,laplace",
	}, evalFile)
}

func evalFile(ctx context.Context, c *call) error {
	e := c.Config.Evaluate
	sets, err := evaluate.ReadSets(e.Data)
	if err != nil {
		return err
	}
	shots, err := wholeNumbers(e.Shots)
	if err != nil {
		return err
	}
	memory := stream.Defaults()
	run := evaluate.File{
		Protocol: evaluate.StreamProtocol{
			Order: e.Order, Episode: 100, SupportBy: "class", TeachBy: "random",
			UnlabelledClasses: e.UnlabelledClasses,
			WrongSupports:     e.WrongSupports,
			VectorRows:        e.VectorRows,
		},
		Settings: fileSettings(c), Episodes: memory,
	}
	run.Settings.Check = true
	seed, methods := c.Config.Solver.Seed, c.Config.Solver.Methods
	p := newPrinter(c, "data\torder\tshots\tseed\tmethod\trows\taccuracy\tcoherence\tECE\tcalibrated\tunknown AUROC\tcode\tseconds\trises\t")
	summary := streamSummary{}
	progress := progressOf(c, "files")
	done, total := 0, len(sets)*len(shots)*len(methods)*e.Trials
	for _, set := range sets {
		for _, n := range shots {
			run.Protocol.Shots = n
			for _, run.Method = range methods {
				for trial := range uint64(e.Trials) {
					if e.Export != "" && run.Method == methods[0] {
						if err := exportFile(e.Export, &run.Protocol, set, seed+trial); err != nil {
							return err
						}
					}
					r, err := run.Run(ctx, set, seed+trial)
					if err != nil {
						return err
					}
					done++
					progress(done, total)
					if err := p.print(r, "%s\t%s\t%d\t%d\t%s\t%d\t%.3f\t%.3f\t%s\t%t\t%s\t%d\t%.2f\t%d\t", r.Data, r.Order,
						r.Shots, r.Seed,
						r.Method, r.N, r.Accuracy, r.Coherence, cell(r.ECE), r.Calibrated, cell(r.UnknownAUROC), r.Code,
						r.Seconds,
						r.ObjectiveRises); err != nil {
						return err
					}
					summary.add(set.Name, n, "", evaluate.StreamResult{Method: r.Method, Accuracy: &r.Accuracy})
				}
			}
		}
	}
	if err := p.close(); err != nil || p.json {
		return err
	}
	return summary.print(c)
}

// exportFile writes a drawn file. Its name contains the number of shots.
func exportFile(folder string, protocol *evaluate.StreamProtocol, set *evaluate.Set, seed uint64) error {
	drawn, err := protocol.Draw(set, seed)
	if err != nil {
		return err
	}
	return evaluate.ExportStream(fmt.Sprintf("%s/%d-shot", folder, protocol.Shots), drawn, seed)
}
