package config

import "time"

// Demo is how long the demo runs and how fast its belt moves.
type Demo struct {
	For  time.Duration
	Rate float64
}

func (d *Demo) title() string { return "Demo" }

func (d *Demo) settings() []Setting {
	return takenBy([]string{"demo"},
		define("for", &d.For, 0, "how long to run; off: until stopped", atLeast[time.Duration](0)),
		define("rate", &d.Rate, 40, "pictures a second", above(0.), atMost(10000.)),
	)
}

func (d *Demo) faults(*Config) []Fault { return nil }
