package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/kernel"
)

// call is one invocation of a command: its settings, loaded and validated, and its input and output.
type call struct {
	Config *config.Config
	Args   []string
	Log    *slog.Logger
	In     io.Reader
	Out    io.Writer // results
	Err    io.Writer // messages; logs go through Log

	console *console       // destination of Err and Log
	broker  *broker.Broker // the embedded one, if it is used
	closers []func()
}

// atEnd has a function called when the command ends, the last one first.
func (c *call) atEnd(closer func()) { c.closers = append(c.closers, closer) }

func (c *call) end() {
	for _, closer := range slices.Backward(c.closers) {
		closer()
	}
}

// withSettings makes run the body of a command and adds the flags that config has for the command
// of this name. Unless cmd says otherwise, it takes no arguments.
func withSettings(name string, cmd *cobra.Command, run func(context.Context, *call) error) *cobra.Command {
	addSettings(name, cmd)
	if cmd.Args == nil {
		cmd.Args = noArguments("")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := config.Load(name, cmd.Flags(), os.Environ())
		if err != nil {
			return usageError{err}
		}
		if err := kernel.Use(c.General.Kernel); err != nil {
			return usageError{err}
		}
		console := newConsole(cmd.ErrOrStderr())
		log := newLogger(console, c.General)
		of := &call{
			Config: c, Args: args, Log: log, In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: console,
			console: console,
		}
		defer of.end()
		return run(cmd.Context(), of)
	}
	return cmd
}

// addSettings adds the flags that config has for the command of this name, with completion of their values.
func addSettings(name string, cmd *cobra.Command) {
	config.Flags(cmd.Flags(), name)
	for _, s := range config.Default(name).Settings() {
		complete := cobra.NoFileCompletions
		switch {
		case s.Choices() != nil:
			complete = cobra.FixedCompletions(s.Choices(), cobra.ShellCompDirectiveNoFileComp)
		case s.Example == "FILE" || s.Example == "DIR":
			continue // the shell's own
		}
		if err := cmd.RegisterFlagCompletionFunc(s.Name, complete); err != nil {
			panic(err) // the flag was added above
		}
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(name, err) })
	showInGroups(name, cmd)
}

// noArguments refuses arguments. Its error suggests flag for the first one; "" suggests none.
func noArguments(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return nil
		case flag != "":
			return usagef("%s takes no arguments: give the file as --%s %s", cmd.CommandPath(), flag, args[0])
		}
		return usagef("%s takes no arguments, but was given %q", cmd.CommandPath(), args[0])
	}
}

// oneArgument requires exactly one argument; what names it in the error.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s needs %s: %s", cmd.CommandPath(), what, cmd.UseLine())
		case 1:
			return nil
		}
		return usagef("%s takes one %s, but was given %d: %s", cmd.CommandPath(), what, len(args), cmd.UseLine())
	}
}

// flagError adds the nearest known name to the error of a mistaken flag.
func flagError(command string, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if use := config.Replaced(command, missing.GetSpecifiedName()); use != "" {
			return usagef("%s", use)
		}
		if near := config.NearestFlag(command, missing.GetSpecifiedName()); near != "" {
			return usagef("%w; did you mean --%s?", err, near)
		}
	}
	return usageError{err}
}

func newLogger(w io.Writer, g config.General) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(g.LogLevel())) != nil {
		level = slog.LevelInfo // not reached: config allows only the four names
	}
	options := &slog.HandlerOptions{Level: level}
	if g.LogForm() == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
