package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "write the man pages to a folder",
		Args:  command{args: "DIR"}.checkArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man pages: %w", err)
			}
			cmd.Root().DisableAutoGenTag = true // no date: the same version makes the same pages
			if err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{
				Title: "SLKSTREAM", Section: "1",
				Source: "slkstream " + versionText(),
			}, args[0]); err != nil {
				return fmt.Errorf("man pages: %w", err)
			}
			return nil
		},
	}
}
