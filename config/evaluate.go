package config

import (
	"slices"
)

// Evaluate is what the measurements take.
type Evaluate struct {
	Data []string
	JSON bool
}

func (e *Evaluate) title() string { return "Evaluation" }

func (e *Evaluate) settings() []Setting {
	return slices.Concat(
		takenBy(with(evaluate, "tune"),
			define("data", &e.Data, nil, "folders that hold X.npy and y.npy").example("DIR,..."),
			define("json", &e.JSON, false, "print one JSON object a line in place of a table"),
		),
	)
}

func (e *Evaluate) faults(*Config) []Fault { return nil }
