package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
)

func newTuneCommand() *cobra.Command {
	return withSettings("tune", &cobra.Command{
		Use:   "tune --data DIR,...",
		Short: "choose lambda, rho, tau and beta on labelled data, print a config",
		Long: "Draw few-shot tasks from labelled data, as eval fewshot does, and choose lambda, rho, tau and beta by successive halving:\n" +
			"many settings on few tasks, the better third on more. All see the same tasks. The preset's own settings stay unless others\n" +
			"beat them beyond the 95 % interval of the difference. The result is a YAML file that run takes with --config; without\n" +
			"--output it goes to stdout and the table to stderr.",
		Example: "  slkstream tune --data ./features --mix dirichlet:2 --shots 5 --output slkstream.yaml",
		Args:    noArguments(""),
	}, tune)
}

func tune(ctx context.Context, c *call) error {
	few, err := fewShot(c)
	if err != nil {
		return err
	}
	s, err := solverSettings(c.Config.Solver, solver.Preset.Settings)
	if err != nil {
		return usageError{err}
	}
	if _, err := solver.New(s); err != nil {
		return usageError{err}
	}
	few.Candidates = []evaluate.Candidate{{
		Method: string(s.Method), Preset: c.Config.Solver.Preset(),
		Settings: s,
	}}
	sets, err := evaluate.ReadSets(c.Config.Evaluate.Data)
	if err != nil {
		return err
	}
	search := evaluate.Tune{FewShot: *few, Progress: progressOf(c, "settings")}
	rows, err := search.Run(ctx, sets)
	if err != nil {
		return err
	}
	output := c.Config.Files.Output
	table := *c
	if output == "" && !c.Config.Evaluate.JSON {
		table.Out = c.Err
	}
	p := newPrinter(&table, "rung\ttasks a cell\tlambda\trho\ttau\tbeta\taccuracy %\tagainst the start\t± 95 %\tchosen\t")
	for _, r := range rows {
		mark := ""
		if r.Chosen {
			mark = "yes"
		}
		if err := p.print(r, "%d\t%d\t%g\t%d\t%g\t%g\t%.2f\t%+.2f\t%.2f\t%s\t", r.Rung, r.Tasks, r.Lambda, r.Rho,
			r.Tau, r.Beta, r.Accuracy, r.Difference, r.CI95, mark); err != nil {
			return err
		}
	}
	if err := p.close(); err != nil {
		return err
	}
	text := tunedConfig(c, rows[0])
	switch {
	case output != "":
		if err := os.WriteFile(output, text, 0o644); err != nil {
			return fmt.Errorf("output: %w", err)
		}
		c.Log.Info("written", "file", output)
	case !c.Config.Evaluate.JSON:
		_, err = c.Out.Write(text)
	}
	return err
}

// tunedConfig is a configuration file with what was chosen.
func tunedConfig(c *call, r evaluate.TuneRow) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# slkstream tune: accuracy %.2f %%, %+.2f ± %.2f against preset %s on the same %d tasks a cell.\n", r.Accuracy, r.Difference, r.CI95, c.Config.Solver.Preset(), r.Tasks)
	fmt.Fprintf(&b, "preset: %s\n", c.Config.Solver.Preset())
	if c.Config.Solver.Method() != "" {
		fmt.Fprintf(&b, "method: %s\n", r.Settings.Method)
	}
	fmt.Fprintf(&b, "lambda: %g\nrho: %d\ntau: %g\nbeta: %g\n", r.Lambda, r.Rho, r.Tau, r.Beta)
	return b.Bytes()
}
