// Package config defines every setting once: its flag, its variable, its YAML key, its help, its default and limits.
// It layers flag over environment over file over default and holds the result against the limits. It looks into no
// other room: what a setting means is for the command that takes it.
package config

// Config is every setting a command may take, in groups. Only those its command takes hold a meaning.
type Config struct {
	General  General
	Kafka    Kafka
	Topics   Topics
	Delivery Delivery
	Stage    Stage
	Memory   Memory
	Solver   Solver
	Index    Index
	Listen   Listen
	Backfill Backfill
	Files    Files
	Feed     Feed
	Teach    Teach
	State    State
	Demo     Demo
	Check    Check
	Evaluate Evaluate

	command string
	origins map[string]Origin
}

// group is a set of settings that belong together, and the rules that hold between them.
type group interface {
	title() string
	settings() []Setting
	faults(c *Config) []Fault
}

func (c *Config) groups() []group {
	return []group{
		&c.General, &c.Kafka, &c.Topics, &c.Delivery, &c.Stage, &c.Memory, &c.Solver, &c.Index, &c.Listen, &c.Backfill, &c.Files,
		&c.Feed, &c.Teach, &c.State, &c.Demo, &c.Check, &c.Evaluate,
	}
}

// Settings lists what the command of this Config takes, in order.
func (c *Config) Settings() []Setting {
	var taken []Setting
	for _, g := range c.groups() {
		for _, s := range g.settings() {
			if s.Takes(c.command) {
				taken = append(taken, s)
			}
		}
	}
	return taken
}

// Command is the command this Config was made for, without the name of the program: "run", "eval stream".
func (c *Config) Command() string { return c.command }

// Default is the configuration of a command that was given nothing.
func Default(command string) *Config {
	c := &Config{command: command, origins: map[string]Origin{}}
	for _, s := range c.Settings() {
		s.field.reset()
	}
	return c
}

// Given says whether a setting was given at all, by flag, variable or file.
func (c *Config) Given(name string) bool { return c.origins[name].Layer != "" }

// Origin says where the value of a setting came from.
func (c *Config) Origin(name string) Origin { return c.origins[name] }

// Origin is the layer a value came from.
type Origin struct {
	Layer string // flag, variable, file; "" is the default
	Place string // for a file its name and line
}

func (o Origin) String() string {
	switch {
	case o.Layer == "":
		return "default"
	case o.Place != "":
		return o.Layer + " " + o.Place
	}
	return o.Layer
}
