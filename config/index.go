package config

// Index is how neighbours are searched for.
type Index struct {
	Method      string
	RecallFloor float64
}

func (i *Index) title() string { return "Neighbours" }

func (i *Index) settings() []Setting {
	return takenBy(with(stage, "label", "eval index", "eval cluster"),
		define("index", &i.Method, "auto", "how neighbours are searched for; small episodes always exactly; hnsw not on Windows", oneOf("auto", "exact", "hnsw", "descent")),
		define("recall-floor", &i.RecallFloor, .95, "share of true neighbours an approximate search must find, else the search is exact", above(0.), atMost(1.)),
	)
}

func (i *Index) faults(*Config) []Fault { return nil }
