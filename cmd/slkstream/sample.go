package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/demo"
)

var sampleCommand = command{
	name: "sample", args: "DIR",
	short: "write the sample files of the recipes to a folder",
	long: "sample writes a minute of the demo's belt to a folder: ten things that come past a camera again and again, with\n" +
		"their pictures, and one labelled example of each.",
	example: "  slkstream sample sample\n  slkstream label --input sample/items.jsonl --support sample/support.jsonl --output named.jsonl",
	run:     writeSample,
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
