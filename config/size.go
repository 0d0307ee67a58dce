package config

// Size holds what a stage is planned for.
type Size struct {
	Cameras  int
	Classes  int
	Examples int
}

func (s *Size) settings() []definition {
	size := []string{"size"}
	return []definition{
		define("cameras", &s.Cameras, size, 20, "cameras: keys of the input, a stream each", atLeast(1), atMost(1<<20)),
		define("classes", &s.Classes, size, 30, "classes that each camera sees", atLeast(1), atMost(1<<12)),
		define("examples", &s.Examples, size, 5, "labelled examples of each class", atLeast(1), atMost(1<<16)),
	}
}
