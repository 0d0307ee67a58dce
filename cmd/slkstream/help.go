package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
)

// columnsOfHelp is the width to which help is wrapped.
const columnsOfHelp = 110

// showInGroups sets a command's help: the settings that matter most or, with --help-all, all of
// them in groups.
func showInGroups(name string, cmd *cobra.Command) {
	cmd.Long = wrapped(cmd.Long)
	cmd.InitDefaultHelpFlag()
	all := false
	cmd.Flags().BoolFunc("help-all", "help with every setting", func(string) error {
		all = true
		return cmd.Flags().Set("help", "true")
	})
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(name, cmd, all))
		return err
	})
}

// wrapped breaks a paragraph into lines.
func wrapped(text string) string {
	var out strings.Builder
	column := 0
	for part := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(part) > columnsOfHelp:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(part)
		column += len(part)
	}
	return out.String()
}

func usage(name string, cmd *cobra.Command, all bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s [command]\n\nCommands:\n", cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&text, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	first := config.First(name)
	if all {
		first = nil
	}
	for _, group := range groups(name, cmd, first) {
		fmt.Fprintf(&text, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(columnsOfHelp))
	}
	if len(first) > 0 && cmd.Flags().Lookup(first[0]) != nil {
		fmt.Fprintf(
			&text,
			"\n%s --help-all shows all settings;\neach is also a variable (%s) and a key of the file that --config names.\n",
			cmd.CommandPath(),
			config.Setting{Name: first[0]}.Variable(),
		)
	}
	return text.String()
}

// group is the flags under one heading.
type group struct {
	title string
	flags *pflag.FlagSet
}

// groups returns the flags of a command under the headings of its settings. If first names any, it returns
// only those, under one heading.
func groups(name string, cmd *cobra.Command, first []string) []group {
	var out []group
	add := func(title, setting string) {
		flag := cmd.Flags().Lookup(setting)
		if flag == nil {
			return // a parent command without settings
		}
		if n := len(out); n == 0 || out[n-1].title != title {
			out = append(out, group{title, &pflag.FlagSet{}})
			out[n].flags.SortFlags = false
		}
		out[len(out)-1].flags.AddFlag(flag)
	}
	for _, setting := range first {
		add("Settings that matter most", setting)
	}
	if len(first) == 0 {
		for _, s := range config.Default(name).Settings() {
			add(s.Section, s.Name)
		}
	}
	return out
}
