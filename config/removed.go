package config

import (
	"fmt"
	"slices"
)

// instead gives the replacement of settings that no command takes any more.
var instead = []struct {
	names []string
	use   string
}{
	{[]string{"max-key", "max-name", "max-objects", "max-record"}, "the limit is fixed; docs/formats.md has it"},
	{[]string{"image-url", "image-hosts"}, "give the hosts, and the URL with {id}, with --images"},
	{[]string{"out-template"}, "give the JSON as --out-format"},
	{[]string{"listen-token"}, "a secret is a file, --listen-token-file"},
	{[]string{"sasl-password"}, "a secret is a file, --sasl-password-file"},
	{[]string{"schema-registry-user"}, "the user is part of the URL, --schema-registry https://USER@HOST"},
	{
		[]string{"schema-registry-password-file", "schema-registry-token-file"},
		"the password of the URL's user, or a token, is --schema-registry-secret-file",
	},
	{
		[]string{"schema-registry-ca", "schema-registry-cert", "schema-registry-key"},
		"the registry shares --tls-ca, --tls-cert and --tls-key with the brokers",
	},
	{[]string{"balance", "balance-range"}, "R has no balance of the classes any more; --beta weighs their proportions"},
	{[]string{"now-within"}, "first answers are for items of the last 2 s"},
	{[]string{"max-streams"}, "a partition remembers 20,000 streams; more partitions remember more"},
	{[]string{"max-labels"}, "the topic's latest 100,000 examples are in force; a --support file may hold more"},
	{[]string{"listen-open"}, "--listen-token-file none lets everyone in"},
	{[]string{"stall-after"}, "a partition that does not get on for 45 s is told"},
}

// removed returns the replacement of a setting that no command takes any more; "" for any other name.
func removed(name string) string {
	for _, old := range instead {
		if slices.Contains(old.names, name) {
			return name + " is no setting any more: " + old.use
		}
	}
	return ""
}

// Replaced returns the replacement of a setting that the command no longer takes; "" for any other name.
func Replaced(command, name string) string {
	c := &Config{command: command}
	if c.takes("solver") && !c.takes(name) && name != "for" {
		if slices.ContainsFunc(c.Numbers(), func(s Setting) bool { return s.Name == name }) {
			return fmt.Sprintf("%s is no setting of %s any more: the numbers of the solver are a file, --solver FILE, "+
				"which slkstream tune writes and slkstream config solver prints", name, command)
		}
	}
	if use, moved := commands[name]; moved && !c.takes(name) && (slices.Contains(live, command) || command == "label") {
		return fmt.Sprintf("%s is no setting of %s any more: %s", name, command, use)
	}
	return removed(name)
}

// commands gives the replacement of settings that the stage on Kafka no longer takes, though
// other commands do.
var commands = map[string]string{
	"embedded-listen": "start the broker by itself, slkstream broker --embedded-listen HOST:PORT",
	"bias-correction": "it is the paper's, eval paper",
	"preset":          "the numbers are a file, --solver FILE",
	"support-labels":  "give a file that holds its labels, or send them with slkstream teach",
}
