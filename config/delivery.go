package config

import "time"

// Delivery is what is promised about repeats, and how often progress is made durable.
type Delivery struct {
	Mode           string // at-least-once, exactly-once
	Isolation      string // read-committed, read-uncommitted
	CommitInterval time.Duration
	StateInterval  time.Duration
	DrainTimeout   time.Duration
	DrainOpen      bool
	SessionTimeout time.Duration
}

func (d *Delivery) title() string { return "Delivery" }

func (d *Delivery) settings() []Setting {
	return append(takenBy(checked,
		define("delivery", &d.Mode, "at-least-once", "promise about repeats of a result", oneOf("at-least-once", "exactly-once")),
		define("isolation", &d.Isolation, "read-committed", "which records of transactions are read", oneOf("read-committed", "read-uncommitted")),
	), takenBy(stage,
		define("commit-interval", &d.CommitInterval, 100*time.Millisecond, "longest time between a result and its commit", atLeast(time.Millisecond)),
		define("state-interval", &d.StateInterval, 10*time.Second, "least time between two writes of a stream's state", atLeast(100*time.Millisecond)),
		define("drain-timeout", &d.DrainTimeout, 10*time.Second, "longest time a stop may take to finish what is being solved", above[time.Duration](0)),
		define("session-timeout", &d.SessionTimeout, 10*time.Second, "silence after which the group gives a process's partitions to others", atLeast(time.Second)),
		define("drain-open", &d.DrainOpen, false, "answer open episodes at a stop in place of leaving them to the next owner"),
	)...)
}

func (d *Delivery) faults(*Config) []Fault { return nil }
