package config

import (
	"fmt"
	"slices"
	"strings"
)

// field is typed access to one field of Config.
type field interface {
	set(raw []string) error // raw has more than one element only for a list
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
	byDefault T
	bounds    []bound[T]
}

func (f *typed[T]) set(raw []string) (err error) {
	v, err := parse[T](raw)
	if err == nil {
		*f.target = v
	}
	return err
}

func (f *typed[T]) reset()         { *f.target = f.byDefault }
func (f *typed[T]) show() string   { return format(*f.target) }
func (f *typed[T]) list() []string { return elements(*f.target) }
func (f *typed[T]) kind() string   { return kindOf[T]() }
func (f *typed[T]) bound() string  { return boundText(f.bounds) }
func (f *typed[T]) breach() string { return breach(f.bounds, *f.target) }

func (f *typed[T]) choices() []string { return choicesOf(f.bounds) }

type maybe[T any] struct {
	target **T
	bounds []bound[T]
}

func (f *maybe[T]) set(raw []string) error {
	v, err := parse[T](raw)
	if err == nil {
		*f.target = &v
	}
	return err
}

func (f *maybe[T]) reset() { *f.target = nil }

func (f *maybe[T]) show() string {
	if *f.target == nil {
		return ""
	}
	return format(**f.target)
}

func (f *maybe[T]) list() []string { return []string{f.show()} }
func (f *maybe[T]) kind() string   { return kindOf[T]() }
func (f *maybe[T]) bound() string  { return boundText(f.bounds) }

func (f *maybe[T]) choices() []string { return choicesOf(f.bounds) }

func (f *maybe[T]) breach() string {
	if *f.target == nil {
		return ""
	}
	return breach(f.bounds, **f.target)
}

// bound is one limit of a value, in words and as a test.
type bound[T any] struct {
	text    string
	holds   func(T) bool
	choices []string // all that are allowed, where they can be counted
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

// oneOf allows the empty text too: a setting that must be given says so with needed.
func oneOf(choices ...string) bound[string] {
	return bound[string]{"one of " + strings.Join(choices, ", "), func(v string) bool { return v == "" || slices.Contains(choices, v) }, choices}
}

// eachOneOf is oneOf for every element of a list.
func eachOneOf(choices ...string) bound[[]string] {
	return bound[[]string]{"each one of " + strings.Join(choices, ", "), func(v []string) bool {
		return !slices.ContainsFunc(v, func(e string) bool { return !slices.Contains(choices, e) })
	}, choices}
}

func boundText[T any](bounds []bound[T]) string {
	var texts []string
	for _, b := range bounds {
		texts = append(texts, b.text)
	}
	return strings.Join(texts, ", ")
}

func choicesOf[T any](bounds []bound[T]) []string {
	for _, b := range bounds {
		if b.choices != nil {
			return b.choices
		}
	}
	return nil
}

func breach[T any](bounds []bound[T], v T) string {
	if !slices.ContainsFunc(bounds, func(b bound[T]) bool { return !b.holds(v) }) {
		return ""
	}
	return fmt.Sprintf("is %s: must be %s", shown(format(v)), boundText(bounds))
}

func shown(v string) string {
	if v == "" {
		return "empty"
	}
	return v
}
