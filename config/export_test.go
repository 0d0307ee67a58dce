package config

import (
	"fmt"
	"strings"
)

// Reference returns docs/settings.md.
func Reference() string {
	var text strings.Builder
	text.WriteString(`# Settings

Reference of all settings. Generated from the definitions in ` + "`config`" + `; ` + "`go test ./config -run TestReference -update`" + ` writes it anew.

Every setting has three names: the flag ` + "`--episode-size`" + `, the environment variable ` + "`SLKSTREAM_EPISODE_SIZE`" + ` and the key
` + "`episode-size`" + ` in the YAML file that ` + "`--config`" + ` names. A flag wins over a variable, a variable over the file, the file over the
default. An empty variable counts as not set. ` + "`slkstream config`" + ` prints what holds and where each value came from.

A list is written ` + "`a,b`" + ` in a flag or a variable (a flag may be repeated) and ` + "`[a, b]`" + ` in the file. A duration is written ` + "`500ms`" + `,
` + "`5s`" + `, ` + "`1h`" + ` or ` + "`off`" + `; a size ` + "`64MiB`" + `. A file may hold settings of several commands: each takes those it knows. A key that is no
setting of any command is an error.
`)
	for _, section := range new(Config).sections() {
		fmt.Fprintf(&text, "\n## %s\n\n| setting | what it is | value | default | taken by |\n|---|---|---|---|---|\n", section.title)
		for _, d := range section.settings {
			text.WriteString(referenceRows(d))
		}
	}
	return text.String()
}

// referenceRows returns one row for each form in which commands take a setting.
func referenceRows(d definition) string {
	var rows []string
	takenBy := map[string][]string{}
	for _, command := range takers(d) {
		s, _ := d.of(command)
		s.reset()
		value, byDefault := s.Kind(), s.Value()
		if b := s.Bound(); b != "" {
			value += ", " + b
		}
		if byDefault != "" {
			byDefault = "`" + byDefault + "`"
		}
		row := fmt.Sprintf("| `--%s` | %s | %s | %s |", s.Name, s.Help, value, byDefault)
		if takenBy[row] == nil {
			rows = append(rows, row)
		}
		if s.Needed {
			command = "**" + command + "**"
		}
		takenBy[row] = append(takenBy[row], command)
	}
	var text strings.Builder
	for _, row := range rows {
		by := strings.Join(takenBy[row], ", ")
		if len(takenBy[row]) == len(every) {
			by = "all"
		}
		fmt.Fprintf(&text, "%s %s |\n", row, by)
	}
	return text.String()
}

// takers returns the commands that take a setting.
func takers(d definition) (all []string) {
	for _, v := range d {
		all = append(all, v.commands...)
	}
	return all
}
