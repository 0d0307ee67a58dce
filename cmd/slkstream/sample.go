package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/demo"
)

func newSampleCommand() *cobra.Command {
	return withSettings("sample", &cobra.Command{
		Use:   "sample DIR",
		Short: "write the sample files of the recipes to a folder",
		Long: "sample writes a minute of the demo's belt to a folder: ten things that come past a camera again and again, with\n" +
			"their pictures, and one labelled example of each.",
		Example: "  slkstream sample sample\n  slkstream label --input sample/items.jsonl --support sample/support.jsonl --output named.jsonl",
		Args:    oneArgument("DIR"),
	}, writeSample)
}

func writeSample(_ context.Context, c *call) error {
	files, err := demo.WriteFiles(c.Args[0], c.Config.Solver.Seed)
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.Out, "%-22s %s\n", f.Path, f.What); err != nil {
			return err
		}
	}
	return nil
}
