package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// NearestFlag is the setting of a command whose name is nearest to a mistaken one, or "".
func NearestFlag(command, mistaken string) string {
	var known []string
	for _, s := range Default(command).Settings() {
		known = append(known, s.Name)
	}
	return nearest(mistaken, known)
}

// Flags adds a flag for each setting the command takes. The flags keep what was written: Load reads it, so
// that a value is understood, and refused, in the same way from each layer.
func Flags(flags *pflag.FlagSet, command string) {
	for _, s := range Default(command).Settings() {
		placeholder := s.Example
		if placeholder == "" {
			placeholder = strings.ReplaceAll(s.Kind(), " ", "-")
		}
		f := &written{kind: placeholder, isList: s.Kind() == "list"}
		flag := flags.VarPF(f, s.Name, "", describe(s))
		if s.Kind() == "on/off" {
			f.kind, flag.NoOptDefVal = "bool", "true" // pflag shows no placeholder for a bool
		}
	}
}

// describe is the help of a setting with its bound and its default.
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

// written is a flag's value as it was written.
type written struct {
	values []string
	kind   string
	isList bool
}

func (w *written) String() string { return "" } // the default stands in the help text
func (w *written) Type() string   { return w.kind }

func (w *written) Set(text string) error {
	if w.isList {
		w.values = append(w.values, split(text)...)
	} else {
		w.values = []string{text} // the last one counts, as everywhere
	}
	return nil
}

// split takes a list apart at its commas.
func split(text string) []string {
	var values []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// Load makes the configuration of a command: flag over environment over file over default. An error is
// Faults: everything that is wrong, at once; the Config beside it is complete but for that. Warnings are
// about variables that look like a setting's but are none. environ is as os.Environ gives it.
func Load(command string, flags *pflag.FlagSet, environ []string) (c *Config, warnings []string, err error) {
	c = Default(command)
	known := Names()
	variables := koanf.New(".")
	byVariable := map[string]string{}
	for _, name := range known {
		byVariable[Setting{Name: name}.Variable()] = name
	}
	loaded := variables.Load(env.Provider("", env.Opt{
		Prefix:      Prefix,
		EnvironFunc: func() []string { return environ }, TransformFunc: func(k, v string) (string, any) {
			name, ok := byVariable[k]
			if !ok {
				if near := nearest(settingOf(k), known); near != "" {
					warnings = append(warnings, fmt.Sprintf("variable %s is no setting; did you mean %s?", k,
						Setting{Name: near}.Variable()))
				}
				return "", nil
			}
			if v == "" {
				return "", nil // an empty variable is one that is not set: compose files pass those
			}
			return name, []string{v}
		},
	}), nil)
	flagged := koanf.New(".")
	loaded = errors.Join(loaded, flagged.Load(posflag.ProviderWithFlag(flags, ".", nil,
		func(f *pflag.Flag) (string, any) {
			if w, ours := f.Value.(*written); ours {
				return f.Name, w.values
			}
			return "", nil
		}), nil))

	var faults Faults
	file := koanf.New(".")
	lines := map[string]int{}
	name := ""
	// the file's own name comes from the layers above it
	for _, layer := range []*koanf.Koanf{variables, flagged} {
		if layer.Exists("config") {
			name = layer.Strings("config")[0]
		}
	}
	if name != "" {
		entries, wrong := readFile(name)
		faults = append(faults, wrong...)
		values := map[string]any{}
		for key, e := range entries {
			values[key], lines[key] = e.values, e.line
		}
		loaded = errors.Join(loaded, file.Load(confmap.Provider(values, ""), nil))
	}
	all := koanf.New(".")
	for _, layer := range []*koanf.Koanf{file, variables, flagged} {
		loaded = errors.Join(loaded, all.Merge(layer))
	}
	if loaded != nil {
		return c, warnings, loaded
	}

	var unreadable []string
	for _, s := range c.Settings() {
		if !all.Exists(s.Name) {
			continue
		}
		switch {
		case flagged.Exists(s.Name):
			c.origins[s.Name] = Origin{Layer: "flag"}
		case variables.Exists(s.Name):
			c.origins[s.Name] = Origin{Layer: "variable"}
		default:
			c.origins[s.Name] = Origin{Layer: "file", Place: fmt.Sprintf("%s:%d", name, lines[s.Name])}
		}
		values := all.Strings(s.Name)
		if len(values) == 1 && s.Kind() == "list" {
			values = split(values[0])
		}
		if len(values) == 0 && s.Kind() != "list" {
			delete(c.origins, s.Name) // a key without a value: the default
			continue
		}
		if err := s.field.set(values); err != nil {
			problem := err.Error()
			if s.Secret {
				problem = "cannot be read"
			}
			faults = append(faults, c.place(Fault{Setting: s.Name, Problem: problem}))
			unreadable = append(unreadable, s.Name)
		}
	}
	faults = append(faults, c.readSecrets()...)
	if faults = append(faults, c.validate(unreadable)...); len(faults) > 0 {
		return c, warnings, faults
	}
	return c, warnings, nil
}

// settingOf is the name that a variable would be of.
func settingOf(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, Prefix)), "_", "-")
}

// readSecrets fills in the secrets that are given as files.
func (c *Config) readSecrets() Faults {
	var faults Faults
	for _, s := range []struct {
		setting, file string
		target        *Secret
	}{
		{"sasl-password-file", c.Kafka.SASLPasswordFile, &c.Kafka.SASLPassword},
		{"listen-token-file", c.Listen.TokenFile, &c.Listen.Token},
	} {
		if s.file == "" {
			continue
		}
		content, err := os.ReadFile(s.file)
		if err != nil {
			faults = append(faults, c.place(Fault{Setting: s.setting, Problem: fmt.Sprintf("cannot be read: %v",
				err)}))
			continue
		}
		*s.target = Secret(strings.TrimRight(string(content), "\r\n"))
		if *s.target == "" {
			faults = append(faults, c.place(Fault{Setting: s.setting, Problem: "is an empty file: " + s.file}))
		}
	}
	return faults
}

// nearest is the known name that takes the fewest edits to reach from a mistaken one, or "" if none is near.
// Upper case is the smallest mistake.
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

// edits is the Levenshtein distance.
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
