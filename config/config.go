// Package config defines every setting once: its flag, environment variable, YAML key, help, limits, and its
// default for each command that takes it. It layers flag over environment over file over default, and
// validates the result. Of the project's packages it imports
// only lists of choices: each command interprets its own settings.
//
// To add a setting, add a field and its define line to the group it belongs to (general.go, kafka.go,
// select.go, stage.go, solver.go, files.go, evaluate.go), then regenerate docs/settings.md: go test
// ./config -run TestReference -update.
package config

import "slices"

// Config holds every setting of every command, in groups. Only those that its command takes are filled in.
type Config struct {
	General  General
	Kafka    Kafka
	Topics   Topics
	Delivery Delivery
	Stage    Stage
	Registry Registry
	Memory   Memory
	Solver   Solver
	Index    Index
	Listen   Listen
	Backfill Backfill
	Files    Files
	Feed     Feed
	Select   Select
	Change   Change
	Output   Output
	Check    Check
	Size     Size
	Evaluate Evaluate

	command string
	origins map[string]Origin
}

// section groups settings under one heading of help and of the reference page.
type section struct {
	title    string
	settings []definition
	check    func(*Config, report) // of settings that depend on each other; nil: none do
}

// sections lists every definition, in the order of the reference page.
func (c *Config) sections() []section {
	return []section{
		{"Topics", c.Topics.settings(), c.Topics.check},
		{"Records in", c.Stage.records(), nil},
		{"Episodes", c.Stage.episodes(), c.Stage.check},
		{"Schema registry", c.Registry.settings(), c.Registry.check},
		{"Answers and memory", c.Memory.settings(), nil},
		{"Files", c.Files.settings(), c.Files.check},
		{"Feed and demo", c.Feed.settings(), c.Feed.check},
		{"Which records", c.Select.settings(), c.Select.check},
		{"What is changed", c.Change.settings(), nil},
		{"What is printed", c.Output.settings(), nil},
		{"Backfill", c.Backfill.settings(), c.Backfill.check},
		{"Check", c.Check.settings(), nil},
		{"What a stage is for", c.Size.settings(), nil},
		{"Measurement", c.Evaluate.settings(), c.Evaluate.check},
		{"Solver", c.Solver.settings(), c.Solver.check},
		{"Neighbours", c.Index.settings(), nil},
		{"Delivery", c.Delivery.settings(), nil},
		{"Kafka", c.Kafka.settings(), c.Kafka.check},
		{"Page, metrics and health", c.Listen.settings(), c.Listen.check},
		{"Every command", c.General.settings(), c.General.check},
	}
}

// The commands that share settings. A setting belongs to every command that uses it.
var (
	live        = []string{"run", "backfill", "correct"} // the stage on Kafka
	deadLetters = []string{"dead list", "dead show", "dead replay"}
	labelTopic  = []string{"labels list", "labels history", "labels export"}
	states      = []string{"state show", "state identities", "state reset", "state discard", "state export", "state import"}
	checked     = with(live, "check")  // check takes the settings that it tests
	decoded     = with(checked, "map") // commands that decode records of the input
	onKafka     = slices.Concat(checked, deadLetters, []string{"feed", "teach", "forget", "map", "labels import"}, labelTopic,
		[]string{"tail", "audit"}, states)
	stage     = with(checked, "demo")      // the stage, whatever its feed
	asking    = []string{"similar", "mcp"} // commands that work by asking a running stage
	measuring = []string{
		"eval fewshot", "eval file", "eval cluster", "eval index", "tune", "eval stream", "eval paper",
		"eval identities",
	}
	// commands that read rows of files with names of their own; eval paper knows its sets
	fromFiles = with([]string{"label", "feed", "teach", "audit"},
		slices.DeleteFunc(slices.Clone(measuring), func(name string) bool { return name == "eval paper" })...)
	every = slices.Concat(stage, []string{
		"label", "audit", "tune", "eval fewshot", "eval stream", "eval cluster", "eval paper", "eval file",
		"eval index", "eval identities",
	}, deadLetters, labelTopic, []string{"labels import", "feed", "teach", "forget", "tail", "map", "broker", "sample"}, states,
		asking, []string{"health", "size", "version"})
)

func with(commands []string, more ...string) []string { return slices.Concat(commands, more) }

// first lists the settings of a command that matter most, in the order of its help. --help-all
// shows the rest.
var first = map[string][]string{
	"run":              {"in", "out", "support", "labels", "brokers"},
	"backfill":         {"job", "in", "out", "support", "from"},
	"correct":          {"in", "out", "labels", "corrections", "since"},
	"demo":             {"for", "rate", "listen", "discover", "seed"},
	"check":            {"in", "out", "labels", "create", "brokers"},
	"map":              {"fields", "format", "stream-by", "count", "brokers"},
	"label":            {"input", "output", "support", "support-labels", "k"},
	"feed":             {"input", "out", "key", "rate", "loop"},
	"teach":            {"labels", "stream", "forget", "by", "brokers"},
	"forget":           {"name", "labels", "support", "out", "by"},
	"labels list":      {"labels", "stream", "class", "json", "brokers"},
	"labels history":   {"labels", "stream", "class", "json", "brokers"},
	"labels export":    {"labels", "stream", "class", "brokers", "embedded-dir"},
	"labels import":    {"labels", "brokers", "embedded-dir"},
	"tail":             {"from", "stream", "unknown", "count", "brokers"},
	"similar":          {"id", "count", "since", "listen", "listen-token-file"},
	"size":             {"cameras", "dimension", "classes", "examples", "rate"},
	"tune":             {"data", "for", "output", "shots", "order"},
	"audit":            {"labels", "support", "support-labels", "stream", "json"},
	"dead list":        {"dead", "reason", "since", "stream", "count"},
	"dead show":        {"dead", "reason", "since", "stream", "count"},
	"dead replay":      {"dead", "reason", "since", "dry-run", "rate"},
	"state show":       {"group", "stream", "class", "brokers", "embedded-dir"},
	"state identities": {"group", "stream", "state", "brokers", "embedded-dir"},
	"state reset":      {"group", "stream", "class", "labels", "brokers"},
	"state discard":    {"group", "state", "brokers", "embedded-dir"},
	"state export":     {"group", "stream", "state", "brokers", "embedded-dir"},
	"state import":     {"group", "stream", "in", "force", "brokers"},
	"eval fewshot":     {"data", "shots", "mix", "preset", "method"},
	"eval stream":      {"data", "shots", "order", "teach", "method"},
	"eval file":        {"data", "shots", "order", "method", "ordered"},
	"eval cluster":     {"data", "k", "method", "seed", "json"},
	"eval paper":       {"data", "plots", "seed", "json", "config"},
	"eval identities":  {"data", "streams", "shift", "seed", "json"},
	"eval index":       {"data", "neighbours", "index", "recall-floor", "json"},
}

// First lists the names of a command's most important settings; none if it has few settings.
func First(command string) []string { return first[command] }

// Commands lists every command that takes settings.
func Commands() []string { return every }

// Settings lists the settings of this Config's command, in order.
func (c *Config) Settings() []Setting { return c.settingsOf(c.command) }

func (c *Config) settingsOf(command string) []Setting { return takenBy(command, c.sections()) }

// takenBy lists the settings that a command takes.
func takenBy(command string, sections []section) []Setting {
	var taken []Setting
	for _, section := range sections {
		for _, d := range section.settings {
			if s, takes := d.of(command); takes {
				s.Section = section.title
				taken = append(taken, s)
			}
		}
	}
	return taken
}

// Names lists the name of every setting of every command, sorted.
func Names() []string {
	var names []string
	for _, section := range new(Config).sections() {
		for _, d := range section.settings {
			names = append(names, d[0].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Command returns the command this Config was made for, without the program's name: "run", "eval stream".
func (c *Config) Command() string { return c.command }

// Default returns the defaults of a command.
func Default(command string) *Config {
	c := &Config{command: command, origins: map[string]Origin{}}
	all := c.sections() // once, as each command of the program has its defaults made at every start
	for _, s := range slices.Concat(takenBy(SolverFile, all), takenBy(command, all)) {
		s.reset()
	}
	c.Listen.divide()
	return c
}

// Given says whether a setting was given, by flag, variable or file.
func (c *Config) Given(name string) bool { return c.origins[name].Layer != "" }

// Origin returns the origin of a setting's value.
func (c *Config) Origin(name string) Origin { return c.origins[name] }

// Origin is the layer a value came from.
type Origin struct {
	Layer string // flag, variable, file; "" is the default
	Where string // of a file: its name and the line
}

func (o Origin) String() string {
	switch {
	case o.Layer == "":
		return "default"
	case o.Where != "":
		return o.Layer + " " + o.Where
	}
	return o.Layer
}
