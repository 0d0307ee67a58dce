package config

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is one fault of a configuration.
type Fault struct {
	Setting string // the setting's name; "": the fault concerns no single setting
	Problem string // includes the value and the bound
	Missing bool   // a required setting was not given
	names   string
	origin  Origin
}

func (f Fault) Error() string {
	if f.Setting == "" {
		return f.Problem
	}
	from := ""
	if f.origin.Layer != "" {
		from = "; given by " + f.origin.String()
	}
	return fmt.Sprintf("%s %s (%s%s)", f.Setting, f.Problem, f.names, from)
}

// Faults is all the faults of a configuration.
type Faults []Fault

func (f Faults) Error() string {
	if len(f) == 1 {
		return f[0].Error()
	}
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = "  " + fault.Error()
	}
	return fmt.Sprintf("%d settings are wrong:\n%s", len(f), strings.Join(lines, "\n"))
}

// Validate checks each of the command's settings against its bounds, and the settings against each other. Its
// error is Faults.
func (c *Config) Validate() error {
	if found := c.validate(nil); len(found) > 0 {
		return found
	}
	return nil
}

// validate skips settings that could not be parsed.
func (c *Config) validate(unreadable []string) Faults {
	var found Faults
	add := func(f Fault) {
		if !slices.Contains(unreadable, f.Setting) {
			found = append(found, c.located(f))
		}
	}
	for _, s := range c.Settings() {
		switch problem := s.field.breach(); {
		case s.Needed && s.field.show() == "":
			add(Fault{Setting: s.Name, Problem: "is not set: " + c.command + " needs it", Missing: true})
		case problem != "":
			add(Fault{Setting: s.Name, Problem: problem})
		}
	}
	for _, rules := range []func(*Config) []Fault{
		c.General.faults, c.Kafka.faults, c.Topics.faults, c.Stage.faults, c.Registry.faults, c.Solver.faults,
		c.Listen.faults,
		c.Backfill.faults, c.Files.faults,
		c.Feed.faults, c.Dead.faults, c.Evaluate.faults,
	} {
		for _, f := range rules(c) {
			if c.takes(f.Setting) {
				add(f)
			}
		}
	}
	return found
}

func (c *Config) takes(name string) bool {
	return slices.ContainsFunc(c.Settings(), func(s Setting) bool { return s.Name == name })
}

// located adds the setting's names and the origin of its value to the fault.
func (c *Config) located(f Fault) Fault {
	for _, s := range c.Settings() {
		if s.Name == f.Setting {
			f.names, f.origin = s.names(), c.origins[s.Name]
		}
	}
	return f
}
