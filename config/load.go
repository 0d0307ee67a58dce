package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// NearestFlag returns the setting of a command whose name is nearest to a mistaken one, or "".
func NearestFlag(command, mistaken string) string {
	var known []string
	for _, s := range Default(command).Settings() {
		known = append(known, s.Name)
		for _, short := range shorthandsOf(s.Name) {
			known = append(known, short.name)
		}
	}
	return nearest(mistaken, known)
}

// TakenBy lists the commands that take a setting, if they are few: the flag of another command was meant for them.
func TakenBy(name string) []string {
	const few = 3
	var commands []string
	for _, command := range every {
		if (&Config{command: command}).takes(name) {
			commands = append(commands, command)
		}
	}
	if len(commands) > few {
		return nil
	}
	return commands
}

// Flags adds a flag for each setting the command takes, and returns the settings. The flags store texts, which Load
// parses, so that a value is accepted or rejected in the same way from each layer.
func Flags(flags *pflag.FlagSet, command string) []Setting {
	settings := Default(command).Settings()
	for _, s := range settings {
		placeholder := s.Example
		if placeholder == "" {
			placeholder = strings.ReplaceAll(s.Kind(), " ", "-")
		}
		f := &written{kind: placeholder, isList: s.Kind() == "list"}
		flag := flags.VarPF(f, s.Name, "", describe(s))
		if s.Kind() == "on/off" {
			f.kind, flag.NoOptDefVal = "bool", "true" // pflag shows no placeholder for a bool
		}
		for _, short := range shorthandsOf(s.Name) {
			flags.VarPF(&written{kind: "text"}, short.name, "", "the same as "+short.of).Hidden = true
		}
	}
	return settings
}

// shorthand is another name for a setting, or for one element of a list of NAME=VALUE.
type shorthand struct{ name, of, element string }

var shorthands = []shorthand{
	{"vector-field", "fields", "vector="},
	{"id-field", "fields", "id="},
	{"time-field", "fields", "time="},
	{"label-field", "fields", "label="},
	{"stream-field", "fields", "stream="},
	{"frame-field", "fields", "frame="},
	{"track-field", "fields", "track="},
	{"attributes-field", "fields", "attributes="},
	{"sasl-token-file", "sasl-password-file", ""},
	{"sasl-token-command", "sasl-password-file", "|"},
	{"view-token-file", "listen-token-file", viewing},
	{"advertise", "listen", advertising},
	{"listen-cert", "listen", certifying},
	{"listen-key", "listen", keying},
	{"schema-registry-secret-file", "schema-registry", secretOf},
	{"log-level", "log", ""},
	{"log-format", "log", ""},
}

func shorthandsOf(setting string) []shorthand {
	var found []shorthand
	for _, s := range shorthands {
		if s.of == setting {
			found = append(found, s)
		}
	}
	return found
}

// describe returns the help of a setting with its bound and its default.
func describe(s Setting) string {
	text := s.Help
	if b := s.Bound(); b != "" {
		text += " (" + b + ")"
	}
	if s.Needed {
		text += "; required"
	}
	if v := s.Value(); v != "" {
		text += "; default " + v
	}
	return text
}

// written keeps a flag's value as a text.
type written struct {
	values []string
	kind   string
	isList bool
}

func (w *written) String() string { return "" } // the help text contains the default
func (w *written) Type() string   { return w.kind }

func (w *written) Set(text string) error {
	if w.isList {
		w.values = append(w.values, split(text)...)
	} else {
		w.values = []string{text} // the last one counts, as in most programs
	}
	return nil
}

// split splits a list at its commas.
func split(text string) []string {
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// Load returns the configuration of a command: flag over environment over file over default. Its error is
// Faults and lists everything that is wrong; the returned Config then holds all that could be read. environ
// has the form of os.Environ.
func Load(command string, flags *pflag.FlagSet, environ []string) (c *Config, err error) {
	c = Default(command)
	known := Names()
	for _, short := range shorthands {
		known = append(known, short.name)
	}
	above, faults := fromVariables(environ, known)
	flags.Visit(func(f *pflag.Flag) {
		if w, ours := f.Value.(*written); ours {
			above[f.Name] = given{w.values, Origin{Layer: "flag"}}
		}
	})
	all := layer{}
	// the file itself is named by the layers above it
	if name := strings.Join(above["config"].values, ""); name != "" {
		found, wrong := readFile(name, "config", known)
		faults = append(faults, wrong...)
		maps.Copy(all, found)
	}
	maps.Copy(all, above)

	for _, name := range slices.Sorted(maps.Keys(all)) {
		if text := Misplaced(command, name); text != "" {
			faults = append(faults, Fault{Problem: text})
		}
	}
	var unreadable []string
	for _, s := range c.Settings() {
		var values []string
		for _, by := range slices.Concat([]shorthand{{name: s.Name}}, shorthandsOf(s.Name)) {
			found, is := all[by.name]
			if !is {
				continue
			}
			c.origins[s.Name] = found.origin
			for _, v := range found.values {
				if by.element == "" || v != "" {
					values = append(values, by.element+v)
				}
			}
		}
		if c.origins[s.Name].Layer == "" {
			continue
		}
		if len(values) == 1 && s.Kind() == "list" {
			values = split(values[0])
		}
		if len(values) == 0 && s.Kind() != "list" {
			delete(c.origins, s.Name) // a key without a value means the default
			continue
		}
		if err := s.set(values); err != nil {
			faults = append(faults, c.fault(s.Name, "%v", err))
			unreadable = append(unreadable, s.Name)
		}
	}
	c.Listen.divide()
	faults = append(faults, c.readSecrets()...)
	faults = append(faults, c.readSolver()...)
	if faults = append(faults, c.validate(unreadable)...); len(faults) > 0 {
		return c, faults
	}
	return c, nil
}

// layer holds the settings that one source gives, by name.
type layer map[string]given

// given is a value as written, one element or those of a list, and its origin.
type given struct {
	values []string
	origin Origin
}

// fromVariables returns the settings given in an environment.
func fromVariables(environ, known []string) (layer, Faults) {
	names, found := map[string]string{}, layer{}
	for _, name := range known {
		names[Setting{Name: name}.Variable()] = name
	}
	var faults Faults
	for _, text := range environ {
		variable, value, _ := strings.Cut(text, "=")
		if !strings.HasPrefix(variable, Prefix) || value == "" {
			continue // an empty variable counts as unset, because compose files pass empty ones
		}
		if name, is := names[variable]; is {
			found[name] = given{[]string{value}, Origin{Layer: "variable"}}
		} else if problem := mistakenVariable(variable, known); problem != "" {
			faults = append(faults, Fault{Problem: problem})
		}
	}
	return found, faults
}

// mistakenVariable returns the fault of a variable that has the prefix of settings but names none. Variables
// that Kubernetes sets for a Service (SLKSTREAM_SERVICE_HOST, SLKSTREAM_PORT_8070_TCP), those of tests, and
// names that resemble no setting are accepted: it returns "".
func mistakenVariable(variable string, known []string) string {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, Prefix)), "_", "-")
	for _, other := range []string{"service-", "port", "test-"} {
		if strings.HasPrefix(name, other) {
			return ""
		}
	}
	near := nearest(name, known)
	if near == "" || edits(name, near) > 1+len(name)/6 {
		return ""
	}
	return fmt.Sprintf("variable %s is no setting; did you mean %s?", variable, Setting{Name: near}.Variable())
}

// readSecrets reads the secrets that are given as files.
func (c *Config) readSecrets() Faults {
	var faults Faults
	password, _ := c.Kafka.Token()
	if c.Kafka.SASL == "oauthbearer" {
		password = "" // a token is read for each new connection instead
	}
	teach, read, _ := c.Listen.tokenFiles()
	for _, s := range []struct {
		setting, file string
		target        *Secret
	}{
		{"sasl-password-file", password, &c.Kafka.SASLPassword},
		{"listen-token-file", teach, &c.Listen.Token},
		{"listen-token-file", read, &c.Listen.ViewToken},
	} {
		if s.file == "" {
			continue
		}
		content, err := os.ReadFile(s.file)
		if err != nil {
			faults = append(faults, c.fault(s.setting, "cannot be read: %v", err))
			continue
		}
		*s.target = Secret(strings.TrimRight(string(content), "\r\n"))
		if *s.target == "" {
			faults = append(faults, c.fault(s.setting, "is an empty file: %s", s.file))
		}
	}
	return faults
}

// nearest returns the known name with the fewest edits from a mistaken one, or "" if none is near.
// Case is ignored.
func nearest(mistaken string, known []string) string {
	mistaken = strings.ToLower(mistaken)
	best, least := "", 1+len(mistaken)/3
	for _, name := range known {
		if d := edits(mistaken, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

// edits returns the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
