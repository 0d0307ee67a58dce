package config

import "time"

// Memory is what a stream learns and says beyond a label.
type Memory struct {
	Warm        bool
	Discover    bool
	ShareMetric bool
	UnknownRate float64
	ReviewRate  float64
	StateTTL    time.Duration
}

func (m *Memory) title() string { return "Memory" }

func (m *Memory) settings() []Setting {
	answering := with(stage, "label", "eval stream")
	return append(takenBy(answering,
		define("warm", &m.Warm, true, "learn from episode to episode"),
		define("discover", &m.Discover, false, "find clusters with stable ids among what has no label"),
		define("unknown-rate", &m.UnknownRate, .05, "share of known items that may be called unknown", above(0.), below(1.)),
	), takenBy(stage,
		define("share-metric", &m.ShareMetric, false, "share what streams learn about distance between streams of one process"),
		define("review-rate", &m.ReviewRate, .03, "share of items sent for review", atLeast(0.), atMost(1.)),
		define("state-ttl", &m.StateTTL, 0, "silence after which a stream's state is retired; off: never", atLeast[time.Duration](0)),
	)...)
}

func (m *Memory) faults(*Config) []Fault { return nil }
