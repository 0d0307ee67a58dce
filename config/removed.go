package config

import (
	"fmt"
	"slices"
)

// replaced lists settings that commands no longer take, and what replaces them.
var replaced = []struct {
	names, commands []string // nil: every command
	use             string
}{
	{names: []string{"max-key", "max-name", "max-objects", "max-record"}, use: "the limit is fixed; docs/formats.md has it"},
	{names: []string{"image-url", "image-hosts"}, use: "give the hosts, and the URL with {id}, with --images"},
	{names: []string{"out-template"}, use: "give the JSON as --out-format"},
	{names: []string{"listen-token"}, use: "a secret is a file, --listen-token-file"},
	{names: []string{"sasl-password"}, use: "a secret is a file, --sasl-password-file"},
	{
		names: []string{"schema-registry-user"},
		use:   "the user is part of the URL, --schema-registry https://USER@HOST",
	},
	{
		names: []string{"schema-registry-password-file", "schema-registry-token-file"},
		use:   "the password of the URL's user, or a token, is --schema-registry-secret-file",
	},
	{
		names: []string{"schema-registry-ca", "schema-registry-cert", "schema-registry-key"},
		use:   "the registry shares --tls-ca, --tls-cert and --tls-key with the brokers",
	},
	{
		names: []string{"balance", "balance-range"},
		use:   "R has no balance of the classes any more; --beta weighs their proportions",
	},
	{names: []string{"now-within"}, use: "first answers are for items of the last 2 s"},
	{names: []string{"max-streams"}, use: "a partition remembers 20,000 streams; more partitions remember more"},
	{
		names: []string{"max-labels"},
		use:   "the topic's latest 100,000 examples are in force; a --support file may hold more",
	},
	{names: []string{"listen-open"}, use: "--listen-token-file none lets everyone in"},
	{names: []string{"stall-after"}, use: "a partition without progress for 45 s is reported"},
	{
		[]string{"embedded-listen"},
		labelling,
		"start the broker by itself, slkstream broker --embedded-listen HOST:PORT",
	},
	{[]string{"bias-correction"}, labelling, "it is the paper's, eval paper"},
	{[]string{"preset"}, labelling, "the numbers are a file, --solver FILE"},
	{
		[]string{"support-labels"},
		labelling,
		"give a file that holds its labels, or send them with slkstream teach",
	},
	{[]string{"in"}, []string{"state reset"}, "it did nothing; --stream resets one stream"},
	{[]string{"recall-floor"}, []string{"eval cluster"}, "it did nothing; eval index takes it"},
	{[]string{"seed"}, []string{"feed"}, "it did nothing: nothing is drawn"},
	{[]string{"by"}, []string{"resume"}, "it did nothing: the end of a pause has no author"},
	{numbers(), solverTakers, "the numbers of the solver are a file, --solver FILE, which slkstream tune writes " +
		"and slkstream config solver prints"},
}

var labelling = with(live, "label")

// numbers lists the settings of a solver file that commands could take once.
func numbers() (names []string) {
	for _, s := range new(Config).Numbers() {
		if s.Name != "for" {
			names = append(names, s.Name)
		}
	}
	return names
}

// Replaced returns the replacement of a setting that the command no longer takes; "" for any other name. Of
// no command, "", it returns that of a setting that no command takes.
func Replaced(command, name string) string {
	c := &Config{command: command}
	for _, old := range replaced {
		switch {
		case !slices.Contains(old.names, name) || c.takes(name):
		case old.commands == nil:
			return fmt.Sprintf("%s is no setting any more: %s", name, old.use)
		case slices.Contains(old.commands, command):
			return fmt.Sprintf("%s is no setting of %s any more: %s", name, command, old.use)
		}
	}
	return ""
}
