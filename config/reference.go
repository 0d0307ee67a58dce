package config

import (
	"fmt"
	"strings"
)

// Commands lists every command that takes settings.
func Commands() []string { return every }

// Reference is docs/settings.md.
func Reference() string {
	var text strings.Builder
	text.WriteString(`# Settings

Generated from the definitions in ` + "`config`" + `; ` + "`go test ./config -run TestReference -update`" + ` writes it anew.

Every setting has three names: the flag ` + "`--episode-size`" + `, the environment variable ` + "`SLKSTREAM_EPISODE_SIZE`" + ` and the key
` + "`episode-size`" + ` in the YAML file that ` + "`--config`" + ` names. A flag wins over a variable, a variable over the file, the file over the
default. An empty variable counts as not set. ` + "`slkstream config`" + ` prints what holds and where each value came from.

A list is written ` + "`a,b`" + ` in a flag or a variable (a flag may be repeated) and ` + "`[a, b]`" + ` in the file. A duration is written ` + "`500ms`" + `,
` + "`5s`" + `, ` + "`1h`" + ` or ` + "`off`" + `; a size ` + "`64MiB`" + `. A file may hold settings of several commands: each takes those it knows. A key that is no
setting of any command is an error.
`)
	for _, g := range new(Config).groups() {
		settings := g.settings()
		if len(settings) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n## %s\n\n| setting | what it is | value | default | taken by |\n|---|---|---|---|---|\n", g.title())
		for _, s := range settings {
			s.field.reset()
			value := s.Kind()
			if b := s.Bound(); b != "" {
				value += ", " + b
			}
			byDefault := s.Value()
			if byDefault != "" {
				byDefault = "`" + byDefault + "`"
			}
			fmt.Fprintf(&text, "| `--%s` | %s | %s | %s | %s |\n", s.Name, s.Help, value, byDefault, takers(s))
		}
	}
	return text.String()
}

// takers names the commands that take a setting, those that need it in bold.
func takers(s Setting) string {
	if len(s.Commands) == len(every) {
		return "all"
	}
	names := make([]string, len(s.Commands))
	for i, c := range s.Commands {
		if names[i] = c; s.needs(c) {
			names[i] = "**" + c + "**"
		}
	}
	return strings.Join(names, ", ")
}
