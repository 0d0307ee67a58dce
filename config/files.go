package config

import "slices"

// Files is what label reads and writes.
type Files struct {
	Input  string
	K      int
	Output string
	Force  bool
	JSON   bool // of results on stdout
}

func (f *Files) title() string { return "Files" }

func (f *Files) settings() []Setting {
	return slices.Concat(
		takenBy([]string{"label", "feed"},
			define("input", &f.Input, "", "file of embeddings: .npy, .jsonl, .parquet, .arrow").example("FILE").needed("label", "feed"),
		),
		takenBy([]string{"label"},
			define("k", &f.K, 0, "clusters to find where there is no support", atLeast(0), atMost(1<<20)),
			define("output", &f.Output, "", "file of labels: .jsonl, .npy, .parquet, .arrow").example("FILE").needed("label"),
			define("force", &f.Force, false, "overwrite the output"),
		),
	)
}

func (f *Files) faults(c *Config) []Fault {
	if c.command != "label" {
		return nil
	}
	switch {
	case f.K == 0 && len(c.Stage.Support) == 0:
		return []Fault{{Setting: "support", Problem: "is not set and k is 0: give labelled examples, or the number of clusters with --k"}}
	case f.K > 0 && len(c.Stage.Support) > 0:
		return []Fault{{Setting: "k", Problem: "is set and support too: the support names the classes, leave one out"}}
	}
	return nil
}
