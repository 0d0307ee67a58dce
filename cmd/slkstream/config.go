package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver"
)

func newConfigCommand() *cobra.Command {
	root := printConfigOf("run", "config")
	root.Short = "print the effective configuration and where each value came from"
	root.Long = "Print the effective configuration of a command (config run, config label, ...; config alone: of run), as a file that --config reads, and where each value came from. Secrets are masked."
	parents := map[string]*cobra.Command{"": root}
	for _, taker := range config.Commands() {
		space := strings.Index(taker, " ")
		of, name := taker[:max(space, 0)], taker[space+1:]
		if parents[of] == nil {
			parents[of] = command{name: of, short: "print the effective configuration of a command of " + of}.build()
			root.AddCommand(parents[of])
		}
		parents[of].AddCommand(printConfigOf(taker, name))
	}
	root.AddCommand(newSolverConfigCommand())
	return root
}

// printConfigOf prints the configuration of a command, valid or not, and then its faults.
func printConfigOf(command, name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: "print the effective configuration of " + command,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.HasSubCommands() && len(args) > 0 {
				return refuseUnknown(cmd, args)
			}
			return noArguments(cmd, args)
		},
	}
	takes(cmd, command)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := config.Load(command, cmd.Flags(), os.Environ())
		var faults config.Faults
		if err != nil && !errors.As(err, &faults) {
			return usageError{err}
		}
		if err := c.Write(cmd.OutOrStdout(), presetValue(command, c.Solver)); err != nil {
			return err
		}
		if wrong := slices.DeleteFunc(faults, func(f config.Fault) bool { return f.Missing }); len(wrong) > 0 {
			return usageError{wrong}
		}
		return nil
	}
	return cmd
}

// presetValue returns a function that gives the value a command uses for a solver setting that was not given.
func presetValue(command string, given config.Solver) func(string) string {
	s, err := solver.Preset(given.Preset()).Settings()
	if command == "eval cluster" || command == "eval paper" {
		s, err = solver.Clustering(solver.SLKMeans)
	}
	if err != nil {
		return func(string) string { return "" }
	}
	return func(name string) string {
		if field := number(&s, name); field.IsValid() {
			return fmt.Sprint(field)
		}
		return ""
	}
}

// newSolverConfigCommand prints the defaults as a solver file.
func newSolverConfigCommand() *cobra.Command {
	purpose := "stream"
	cmd := &cobra.Command{
		Use: "solver", Short: "print the solver's measured defaults, as a file that --solver takes", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(config.Purposes(), purpose) {
				return usagef("for is %s: must be one of %s", purpose, strings.Join(config.Purposes(), ", "))
			}
			values := solverValues(purpose, solver.Defaults())
			return config.WriteSolver(cmd.OutOrStdout(), "The measured defaults.", values)
		},
	}
	cmd.Flags().StringVar(&purpose, "for", purpose, "what the numbers are for: "+strings.Join(config.Purposes(), ", "))
	return cmd
}
