package config

// Teach is what is done with the examples that are sent.
type Teach struct {
	Forget bool
}

func (t *Teach) title() string { return "Teach" }

func (t *Teach) settings() []Setting {
	return takenBy([]string{"teach"},
		define("forget", &t.Forget, false, "forget the examples of the file, by their ids, in place of teaching them"),
	)
}

func (t *Teach) faults(*Config) []Fault { return nil }
