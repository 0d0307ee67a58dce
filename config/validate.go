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

// report takes a fault of a setting, which is left out if the command does not take the setting.
type report func(setting, format string, args ...any)

// validate checks each of the command's settings against its bounds, and the settings against each other. It
// skips settings that could not be parsed.
func (c *Config) validate(unreadable []string) (found Faults) {
	fault := func(setting, format string, args ...any) {
		if c.takes(setting) && !slices.Contains(unreadable, setting) {
			found = append(found, c.fault(setting, format, args...))
		}
	}
	for _, s := range c.Settings() {
		problem := s.breach()
		switch missing := s.Needed && s.Value() == ""; {
		case missing && !slices.Contains(unreadable, s.Name):
			f := c.fault(s.Name, "is not set: %s needs it", c.command)
			f.Missing = true
			found = append(found, f)
		case problem != "" && !missing:
			fault(s.Name, "%s", problem)
		}
	}
	for _, section := range c.sections() {
		if section.check != nil {
			section.check(c, fault)
		}
	}
	return found
}

func (c *Config) takes(name string) bool {
	return slices.ContainsFunc(c.Settings(), func(s Setting) bool { return s.Name == name })
}

// fault returns a fault of a setting.
func (c *Config) fault(setting, format string, args ...any) Fault {
	return Fault{
		Setting: setting, Problem: fmt.Sprintf(format, args...), names: Setting{Name: setting}.names(),
		origin: c.origins[setting],
	}
}
