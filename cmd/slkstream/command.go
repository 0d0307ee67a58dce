package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/kernel"
)

// command is a command of the program, or a family of commands.
type command struct {
	name    string // without the program's: "run", "eval stream"; config has its settings under it
	args    string // what its usage says behind the name: FILE, TOPIC..., [HOST:PORT...], or a flag
	short   string
	long    string
	example string
	run     func(context.Context, *call) error
	of      []command // those of a family, which itself only shows help
	endless bool      // runs until stopped: an error that only reports the stop is none
}

func (d command) build() *cobra.Command {
	words := strings.Fields(d.name)
	cmd := &cobra.Command{
		Use:   strings.TrimSpace(words[len(words)-1] + " " + d.args),
		Short: d.short, Long: d.long, Example: d.example, RunE: refuseUnknown,
	}
	for _, one := range d.of {
		cmd.AddCommand(one.build())
	}
	if d.run == nil {
		return cmd
	}
	takes(cmd, d.name)
	cmd.Args = d.checkArguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := config.Load(d.name, cmd.Flags(), os.Environ())
		if err != nil {
			return usageError{err}
		}
		if err := kernel.Use(c.General.Kernel); err != nil {
			return usageError{err}
		}
		console := newConsole(cmd.ErrOrStderr(), c.General.LogJSON())
		defer console.close()
		of := &call{
			Config: c, Args: args, Log: newLogger(console, c.General.Level(), c.General.LogJSON()),
			Out: cmd.OutOrStdout(), Err: console, console: console,
		}
		defer of.end()
		ctx := cmd.Context()
		err = d.run(ctx, of)
		if d.endless && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return of.explained(err)
	}
	return cmd
}

// checkArguments refuses arguments that are more or fewer than the usage says.
func (d command) checkArguments(cmd *cobra.Command, args []string) error {
	optional, many := strings.HasPrefix(d.args, "["), strings.Contains(d.args, "...")
	switch {
	case d.args == "" || strings.HasPrefix(d.args, "-"):
		return noArguments(cmd, args)
	case len(args) == 0 && !optional:
		return usagef("%s needs %s: %s", cmd.CommandPath(), strings.TrimSuffix(d.args, "..."), cmd.UseLine())
	case len(args) > 1 && !many:
		return usagef("%s takes one %s, but was given %d: %s", cmd.CommandPath(), d.args, len(args), cmd.UseLine())
	}
	return nil
}

// noArguments refuses arguments. It says how a file is given.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("input") != nil:
		return usagef("%s takes no arguments: give the file as --input %s", cmd.CommandPath(), args[0])
	}
	return usagef("%s takes no arguments, but was given %q", cmd.CommandPath(), args[0])
}

// refuseUnknown runs a command that is only a family: it shows help, or fails with the nearest command's
// name.
func refuseUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %q?", near[0])
	}
	return usagef("unknown command %q of %q%s", args[0], cmd.CommandPath(), hint)
}

// refuseUnknownHelp has help fail for a command that does not exist.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if of, unknown, _ := root.Find(args); len(unknown) > 0 {
			return refuseUnknown(of, unknown)
		}
		show(cmd, args)
		return nil
	}
}

// settingsOf is the annotation of a command that still lacks its flags: the name under which config has its settings.
const settingsOf = "settings"

// takes says that cmd takes the settings that config has under name.
func takes(cmd *cobra.Command, name string) { cmd.Annotations = map[string]string{settingsOf: name} }

// addFlags adds the flags of the command that args name, be it to run, to explain or to complete, and of its family.
// All commands have thousands, which would be half of a short command's work.
func addFlags(root *cobra.Command, args []string) {
	if len(args) > 0 && slices.Contains([]string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]) {
		args = args[1:]
	}
	for {
		cmd, _, _ := root.Find(args) // knows which words are values of flags that the command has
		name, lacking := cmd.Annotations[settingsOf]
		if !lacking {
			return
		}
		addSettings(name, cmd)
		delete(cmd.Annotations, settingsOf)
	}
}

// addSettings adds the flags that config has for the command of this name, with completion of their values.
func addSettings(name string, cmd *cobra.Command) {
	for _, s := range config.Flags(cmd.Flags(), name) {
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
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(name, cmd.UseLine(), err) })
	showInGroups(name, cmd)
}

// flagError adds to the error of a mistaken flag the commands that take it, the nearest known name, or else how the command is
// written.
func flagError(command, usage string, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if use := config.Misplaced(command, missing.GetSpecifiedName()); use != "" {
			return usagef("%s", use)
		}
		if near := config.NearestFlag(command, missing.GetSpecifiedName()); near != "" {
			if others := config.TakenBy(missing.GetSpecifiedName()); len(others) > 0 {
				return usagef("%w: it is of %s", err, strings.Join(others, ", "))
			}
			return usagef("%w; did you mean --%s?", err, near)
		}
		return usagef("%w; it is %s", err, usage)
	}
	return usageError{err}
}

// call is one invocation of a command: its settings, loaded and validated, and its output.
type call struct {
	Config *config.Config
	Args   []string
	Log    *slog.Logger
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

func newLogger(w io.Writer, level slog.Level, inJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if inJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
