package config

import (
	"slices"
	"strings"
)

// Prefix begins the environment variable of every setting.
const Prefix = "SLKSTREAM_"

// Setting is the one definition of a setting. Its flag is --Name, its YAML key is Name, its variable is Variable().
type Setting struct {
	Name     string
	Help     string   // one sentence without its default, which is added where it is shown
	Example  string   // stands for the value in help: TOPIC, FILE; "" shows the kind
	Commands []string // that take it
	Needed   []string // commands that cannot do without it
	Secret   bool     // never shown, never logged
	field    field
}

// Variable is the environment variable of the setting.
func (s Setting) Variable() string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Takes says whether a command takes the setting.
func (s Setting) Takes(command string) bool { return slices.Contains(s.Commands, command) }

func (s Setting) needs(command string) bool { return slices.Contains(s.Needed, command) }

// Kind names what a value looks like: text, whole number, number, duration, size, list, on/off.
func (s Setting) Kind() string { return s.field.kind() }

// Bound says in words what a value must keep to; "" if anything goes.
func (s Setting) Bound() string { return s.field.bound() }

// Choices are all the values it may have, where they can be counted.
func (s Setting) Choices() []string {
	if s.Kind() == "on/off" {
		return []string{"true", "false"}
	}
	return s.field.choices()
}

// Value is the present value, masked if it is a secret.
func (s Setting) Value() string {
	if v := s.field.show(); !s.Secret || v == "" {
		return v
	}
	return mask
}

// Values is Value for a setting that holds a list, each element by itself.
func (s Setting) Values() []string { return s.field.list() }

// names are the three names a person may know the setting by.
func (s Setting) names() string {
	return "--" + s.Name + ", " + s.Variable() + ", " + s.Name + " in the file"
}

// define makes a setting of a field of Config, with its default and its bounds.
func define[T any](name string, target *T, byDefault T, help string, bounds ...bound[T]) Setting {
	return Setting{Name: name, Help: help, field: &typed[T]{target, byDefault, bounds}}
}

// optional makes a setting that is nil until it is given: what stands in its place is decided elsewhere.
func optional[T any](name string, target **T, help string, bounds ...bound[T]) Setting {
	return Setting{Name: name, Help: help, field: &maybe[T]{target, bounds}}
}

// example sets what stands for the value in help.
func (s Setting) example(text string) Setting { s.Example = text; return s }

// needed names the commands that cannot do without the setting.
func (s Setting) needed(commands ...string) Setting { s.Needed = commands; return s }

// secret keeps the value out of every print and log.
func (s Setting) secret() Setting { s.Secret = true; return s }

// takenBy gives settings to the commands that take them.
func takenBy(commands []string, settings ...Setting) []Setting {
	for i := range settings {
		settings[i].Commands = commands
	}
	return settings
}
