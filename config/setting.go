package config

import (
	"cmp"
	"fmt"
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
	field   field
}

// Variable returns the setting's environment variable.
func (s Setting) Variable() string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Kind returns the kind of a value: text, whole number, number, duration, size, list, on/off.
func (s Setting) Kind() string { return s.field.kind() }

// Bound describes the allowed values; "" if any value is allowed.
func (s Setting) Bound() string { return s.field.bound() }

// Choices returns all allowed values if they can be listed, else nil.
func (s Setting) Choices() []string {
	if s.Kind() == "on/off" {
		return []string{"true", "false"}
	}
	return s.field.choices()
}

// Value returns the present value.
func (s Setting) Value() string { return s.field.show() }

// Values returns the elements of a setting that holds a list.
func (s Setting) Values() []string { return s.field.list() }

// names lists the setting's flag, variable and key, for messages.
func (s Setting) names() string {
	return "--" + s.Name + ", " + s.Variable() + ", " + s.Name + " in the file"
}

// definition is a setting of any kind, for all commands that take it.
type definition interface {
	name() string
	of(command string) (s Setting, taken bool)
}

// defined is the definition of a setting of kind T.
type defined[T any] struct {
	Setting
	target   *T
	pointer  **T // instead of target, for a setting that is nil until given
	needed   []string
	variants []variant[T] // each command is in one of them
}

// variant is a setting's form for some of the commands that take it.
type variant[T any] struct {
	commands  []string
	byDefault T
	help      string
	example   string
	bounds    []bound[T]
}

// define makes a setting of a field of Config: the commands that take it, its default and its bounds.
func define[T any](name string, target *T, commands []string, byDefault T, help string,
	bounds ...bound[T],
) *defined[T] {
	variants := []variant[T]{{commands: commands, byDefault: byDefault, help: help, bounds: bounds}}
	return &defined[T]{Setting: Setting{Name: name}, target: target, variants: variants}
}

// optional makes a setting that is nil until it is given; its user decides what replaces nil.
func optional[T any](name string, pointer **T, commands []string, help string,
	bounds ...bound[T],
) *defined[T] {
	var none T
	d := define(name, nil, commands, none, help, bounds...)
	d.pointer = pointer
	return d
}

// when adds a command that takes the setting with its own default. Empty help and nil bounds mean those
// given to define.
func (d *defined[T]) when(command string, byDefault T, help string, bounds ...bound[T]) *defined[T] {
	general := &d.variants[0]
	if bounds == nil {
		bounds = general.bounds
	}
	help = cmp.Or(help, general.help)
	d.variants = append(d.variants, variant[T]{[]string{command}, byDefault, help, "", bounds})
	return d
}

// example sets the value's placeholder in the help of the last variant. A variant without one has that
// of the first.
func (d *defined[T]) example(text string) *defined[T] {
	d.variants[len(d.variants)-1].example = text
	return d
}

// neededBy names the commands that require the setting.
func (d *defined[T]) neededBy(commands ...string) *defined[T] { d.needed = commands; return d }

func (d *defined[T]) name() string { return d.Name }

func (d *defined[T]) of(command string) (Setting, bool) {
	at := slices.IndexFunc(d.variants, func(v variant[T]) bool { return slices.Contains(v.commands, command) })
	if at < 0 {
		return Setting{}, false
	}
	v := d.variants[at]
	s := d.Setting
	s.Help, s.Example = v.help, cmp.Or(v.example, d.variants[0].example)
	s.Needed = slices.Contains(d.needed, command)
	s.field = &typed[T]{d.target, d.pointer, v.byDefault, v.bounds}
	return s, true
}

// field is typed access to one field of Config.
type field interface {
	set(raw []string) error // raw has several elements only for a list
	reset()
	show() string
	list() []string
	kind() string
	bound() string
	breach() string // the bound the present value breaks, or ""
	choices() []string
}

type typed[T any] struct {
	target    *T
	pointer   **T
	byDefault T
	bounds    []bound[T]
}

// value returns the present value; nil if the setting is optional and was not given.
func (f *typed[T]) value() *T {
	if f.pointer != nil {
		return *f.pointer
	}
	return f.target
}

func (f *typed[T]) set(raw []string) error {
	v, err := parse[T](raw)
	switch {
	case err != nil:
	case f.pointer != nil:
		*f.pointer = &v
	default:
		*f.target = v
	}
	return err
}

func (f *typed[T]) reset() {
	if f.pointer != nil {
		*f.pointer = nil
	} else {
		*f.target = f.byDefault
	}
}

func (f *typed[T]) show() string {
	if v := f.value(); v != nil {
		return format(*v)
	}
	return ""
}

func (f *typed[T]) list() []string {
	if v := f.value(); v != nil {
		return elements(*v)
	}
	return []string{""}
}

func (f *typed[T]) kind() string { return kindOf[T]() }

func (f *typed[T]) bound() string {
	texts := make([]string, len(f.bounds))
	for i, b := range f.bounds {
		texts[i] = b.text
	}
	return strings.Join(texts, ", ")
}

func (f *typed[T]) breach() string {
	v := f.value()
	if v == nil || !slices.ContainsFunc(f.bounds, func(b bound[T]) bool { return !b.holds(*v) }) {
		return ""
	}
	return fmt.Sprintf("is %s: must be %s", shown(format(*v)), f.bound())
}

func (f *typed[T]) choices() []string {
	for _, b := range f.bounds {
		if b.choices != nil {
			return b.choices
		}
	}
	return nil
}

// bound is one limit of a value: its description and its test.
type bound[T any] struct {
	text    string
	holds   func(T) bool
	choices []string // all allowed values, if they can be listed
}

type ordered interface {
	~int | ~int64 | ~uint64 | ~float64
}

func atLeast[T ordered](low T) bound[T] {
	return bound[T]{text: "at least " + format(low), holds: func(v T) bool { return v >= low }}
}

func above[T ordered](low T) bound[T] {
	return bound[T]{text: "above " + format(low), holds: func(v T) bool { return v > low }}
}

func below[T ordered](high T) bound[T] {
	return bound[T]{text: "below " + format(high), holds: func(v T) bool { return v < high }}
}

func atMost[T ordered](high T) bound[T] {
	return bound[T]{text: "at most " + format(high), holds: func(v T) bool { return v <= high }}
}

// oneOf allows the empty text too: a required setting says so with neededBy.
func oneOf(choices ...string) bound[string] {
	holds := func(v string) bool { return v == "" || slices.Contains(choices, v) }
	return bound[string]{"one of " + strings.Join(choices, ", "), holds, choices}
}

// eachOneOf is oneOf for every element of a list.
func eachOneOf(choices ...string) bound[[]string] {
	return bound[[]string]{"each one of " + strings.Join(choices, ", "), func(v []string) bool {
		return !slices.ContainsFunc(v, func(e string) bool { return !slices.Contains(choices, e) })
	}, choices}
}

// exactlyOneOf is a list with one element, which is one of the choices; other commands take several.
func exactlyOneOf(choices ...string) bound[[]string] {
	return bound[[]string]{"one of " + strings.Join(choices, ", "), func(v []string) bool {
		return len(v) == 0 || len(v) == 1 && slices.Contains(choices, v[0])
	}, choices}
}

// pairsOf is a list of NAME=VALUE without repeated names.
func pairsOf(names []string) bound[[]string] {
	return bound[[]string]{text: "each NAME=VALUE, NAME one of " + strings.Join(names, ", ") + ", once", holds: func(v []string) bool {
		seen := map[string]bool{}
		for _, pair := range v {
			name, value, _ := strings.Cut(pair, "=")
			if seen[name] || value == "" || !slices.Contains(names, name) {
				return false
			}
			seen[name] = true
		}
		return true
	}}
}

func shown(v string) string {
	if v == "" {
		return "empty"
	}
	return v
}
