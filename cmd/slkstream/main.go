// Command slkstream labels feeds of embeddings.
//
// A command or a family of them is one file of this folder. It is a value in the list below, and takes its
// settings from config:
//
//	var runCommand = command{name: "run", short: "label a live feed until stopped", run: run}
//
//	func run(ctx context.Context, c *call) error {
//		... c.Config.Topics.In, c.Config.Stage.EpisodeSize, c.Log, c.Args, c.Out ...
//	}
//
// It has a flag for every setting that config gives to the command of that name ("run", "eval stream").
// They are loaded and validated before it runs. To add a setting, define it in its group in config: flag,
// variable, YAML key, help, reference page and validation follow. ctx ends at the first SIGINT, SIGTERM or SIGHUP:
// drain and return nil. Results go to c.Out, all else to c.Log or c.Err. Return an error to exit with 1, a
// usageError to exit with 2.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// commands lists every command, in the groups and order of the help.
var commands = []struct {
	title string
	make  []func() *cobra.Command
}{
	{"Label:", []func() *cobra.Command{
		demoCommand.build, runCommand.build, backfillCommand.build, correctCommand.build, labelCommand.build,
	}},
	{"Feed, teach and watch:", []func() *cobra.Command{
		sampleCommand.build, mapCommand.build, feedCommand.build, teachCommand.build, labelsCommand.build, forgetCommand.build,
		tailCommand.build, similarCommand.build, mcpCommand.build, auditCommand.build, stateCommand.build, deadCommand.build,
	}},
	{"Measure and choose settings:", []func() *cobra.Command{evalCommand.build, tuneCommand.build}},
	{"Set up and operate:", []func() *cobra.Command{
		checkCommand.build, newConfigCommand,
		healthCommand.build, sizeCommand.build, brokerCommand.build, newManCommand, versionCommand.build,
	}},
}

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error to a write, so that commands can clean up
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // after the first signal, a second one ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an invalid command line or configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, out, messages io.Writer) int {
	root := newRootCommand(args)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(messages)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, syscall.EPIPE) { // the reader has closed our output
		return exitDone
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("stopped before the end: %w", err)
	}
	said := newConsole(messages, false) // who reads the messages may have stopped to
	fmt.Fprintf(said, "slkstream: %v\n", withoutEscapes([]any{err})...)
	said.close()
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// newRootCommand returns the program's commands, of which the one that args name has its flags.
func newRootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "slkstream",
		Version:       versionText(),
		Short:         "label feeds of embeddings that arrive through Kafka",
		Long:          "slkstream labels feeds of embeddings that arrive through Kafka, from a few labelled examples or none.\nWithout --brokers its commands share an embedded broker.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          refuseUnknown,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd == root && len(args) > 0 {
			return refuseUnknown(cmd, args) // the flag is unknown because the command is
		}
		return usageError{err}
	})
	cobra.EnableCommandSorting = false
	for _, group := range commands {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, newCommand := range group.make {
			cmd := newCommand()
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	last := commands[len(commands)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	refuseUnknownHelp(root)
	addFlags(root, args)
	return root
}
