package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Prefix begins the environment variable of every setting.
const Prefix = "SLKSTREAM_"

// Setting is a setting of one command. Its flag is --Name, its YAML key Name, its variable Variable().
type Setting struct {
	Name    string
	Section string // its heading in help
	Help    string // one sentence without the default, which is added for display
	Example string // placeholder of the value in help: TOPIC, FILE; "": the kind
	Needed  bool   // the command requires it

	commands  []string      // that take it in this form
	neededBy  []string      // those that require it
	field     reflect.Value // of Config; a pointer is nil until the setting is given
	byDefault reflect.Value
	bounds    []bound
}

// Variable returns the setting's environment variable.
func (s Setting) Variable() string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Kind returns the kind of a value: text, whole number, number, duration, size, list, on/off.
func (s Setting) Kind() string { return kindOf(s.kind()) }

// kind is the type of a value: of what the field holds or points to.
func (s Setting) kind() reflect.Type {
	if t := s.field.Type(); t.Kind() != reflect.Pointer {
		return t
	}
	return s.field.Type().Elem()
}

// Bound describes the allowed values; "" if any value is allowed.
func (s Setting) Bound() string {
	texts := make([]string, len(s.bounds))
	for i, b := range s.bounds {
		texts[i] = b.text
	}
	return strings.Join(texts, ", ")
}

// Choices returns all allowed values if they can be listed, else nil.
func (s Setting) Choices() []string {
	if s.Kind() == "on/off" {
		return []string{"true", "false"}
	}
	for _, b := range s.bounds {
		if b.choices != nil {
			return b.choices
		}
	}
	return nil
}

// value returns the present value; nil if the setting leaves it to its user until it is given.
func (s Setting) value() any {
	v := s.field
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return v.Interface()
}

// Value returns the present value.
func (s Setting) Value() string {
	if v := s.value(); v != nil {
		return format(v)
	}
	return ""
}

// Values returns the elements of a setting that holds a list.
func (s Setting) Values() []string {
	if list, ok := s.value().([]string); ok {
		return list
	}
	return []string{s.Value()}
}

// set parses a value; raw has several elements only for a list.
func (s Setting) set(raw []string) error {
	v := reflect.New(s.kind())
	if err := parse(raw, v.Interface()); err != nil {
		return err
	}
	if s.field.Kind() != reflect.Pointer {
		v = v.Elem()
	}
	s.field.Set(v)
	return nil
}

func (s Setting) reset() { s.field.Set(s.byDefault) }

// breach describes the bound that the present value breaks; "" if it breaks none.
func (s Setting) breach() string {
	v := s.value()
	if v == nil || !slices.ContainsFunc(s.bounds, func(b bound) bool { return !b.holds(v) }) {
		return ""
	}
	return fmt.Sprintf("is %s: must be %s", shown(format(v)), s.Bound())
}

// names lists the setting's flag, variable and key, for messages.
func (s Setting) names() string {
	return "--" + s.Name + ", " + s.Variable() + ", " + s.Name + " in the file"
}

// definition is a setting in each form in which commands take it. No command takes two of them.
type definition []Setting

// define makes a setting of a field of Config: the commands that take it, its default and its bounds. A field
// that is a pointer has the default nil: its user decides what replaces a missing value.
func define[T any](name string, field *T, commands []string, byDefault T, help string,
	bounds ...bound,
) definition {
	return definition{{
		Name: name, Help: help, commands: commands, bounds: bounds,
		field: reflect.ValueOf(field).Elem(), byDefault: reflect.ValueOf(&byDefault).Elem(),
	}}
}

// when adds the form in which other commands take the setting, named "a, b": its default and, unless they are
// those given to define, its help and bounds.
func (d definition) when(commands string, byDefault any, help string, bounds ...bound) definition {
	form := d[0]
	form.commands = strings.Split(commands, ", ")
	form.byDefault = reflect.Zero(form.field.Type())
	if byDefault != nil {
		form.byDefault = reflect.ValueOf(byDefault).Convert(form.field.Type())
	}
	form.Help = cmp.Or(help, form.Help)
	if bounds != nil {
		form.bounds = bounds
	}
	return append(d, form)
}

// example sets the value's placeholder in the help of the last form, and of those that follow the first.
func (d definition) example(text string) definition { d[len(d)-1].Example = text; return d }

// neededBy names the commands that require the setting.
func (d definition) neededBy(commands ...string) definition {
	for i := range d {
		d[i].neededBy = commands
	}
	return d
}

// of returns the setting as a command takes it.
func (d definition) of(command string) (s Setting, taken bool) {
	at := slices.IndexFunc(d, func(s Setting) bool { return slices.Contains(s.commands, command) })
	if at < 0 {
		return s, false
	}
	s = d[at]
	s.Needed = slices.Contains(s.neededBy, command)
	return s, true
}

// bound is one limit of a value: its description and its test.
type bound struct {
	text    string
	holds   func(any) bool
	choices []string // all allowed values, if they can be listed
}

// limit is a bound of values of one kind.
func limit[T any](text string, holds func(T) bool, choices ...string) bound {
	return bound{text, func(v any) bool { return holds(v.(T)) }, choices}
}

type ordered interface {
	~int | ~int64 | ~uint64 | ~float64
}

func atLeast[T ordered](low T) bound {
	text := "at least " + format(low)
	if format(low) == "off" {
		text = "off or above 0"
	}
	return limit(text, func(v T) bool { return v >= low })
}

func above[T ordered](low T) bound {
	return limit("above "+format(low), func(v T) bool { return v > low })
}

func below[T ordered](high T) bound {
	return limit("below "+format(high), func(v T) bool { return v < high })
}

func atMost[T ordered](high T) bound {
	return limit("at most "+format(high), func(v T) bool { return v <= high })
}

// oneOf allows the empty text too: a required setting says so with neededBy.
func oneOf(choices ...string) bound {
	holds := func(v string) bool { return v == "" || slices.Contains(choices, v) }
	return limit("one of "+strings.Join(choices, ", "), holds, choices...)
}

// eachOneOf is oneOf for every element of a list.
func eachOneOf(choices ...string) bound {
	return limit("each one of "+strings.Join(choices, ", "), func(v []string) bool {
		return !slices.ContainsFunc(v, func(e string) bool { return !slices.Contains(choices, e) })
	}, choices...)
}

// exactlyOneOf is a list with one element, which is one of the choices; other commands take several.
func exactlyOneOf(choices ...string) bound {
	return limit("one of "+strings.Join(choices, ", "), func(v []string) bool {
		return len(v) == 0 || len(v) == 1 && slices.Contains(choices, v[0])
	}, choices...)
}

// pairsOf is a list of NAME=VALUE without repeated names.
func pairsOf(names []string) bound {
	return limit("each NAME=VALUE, NAME one of "+strings.Join(names, ", ")+", once", func(v []string) bool {
		seen := map[string]bool{}
		for _, pair := range v {
			name, value, _ := strings.Cut(pair, "=")
			if seen[name] || value == "" || !slices.Contains(names, name) {
				return false
			}
			seen[name] = true
		}
		return true
	})
}

func shown(v string) string {
	if v == "" {
		return "empty"
	}
	return v
}
