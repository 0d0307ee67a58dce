package config

// State picks what of the memory is shown or reset.
type State struct {
	Stream string
	Class  string
}

func (s *State) title() string { return "State" }

func (s *State) settings() []Setting {
	return takenBy([]string{"state show", "state reset"},
		define("stream", &s.Stream, "", "only this stream; none: all of them"),
		define("class", &s.Class, "", "only this class; none: all of them"),
	)
}

func (s *State) faults(*Config) []Fault { return nil }
