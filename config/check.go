package config

// Check is what check does beyond looking.
type Check struct {
	Create     bool
	Partitions int
	Replicas   int
}

func (k *Check) title() string { return "Check" }

func (k *Check) settings() []Setting {
	return takenBy([]string{"check"},
		define("create", &k.Create, false, "make the topics that are missing"),
		define("partitions", &k.Partitions, 4, "partitions of a topic that is made, where no other topic decides", atLeast(1), atMost(10000)),
		define("replicas", &k.Replicas, 0, "copies of a topic that is made; 0: as the brokers are set", atLeast(0), atMost(32767)),
	)
}

func (k *Check) faults(*Config) []Fault { return nil }
