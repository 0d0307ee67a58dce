package config

import (
	"fmt"
	"slices"
	"strconv"
)

// Evaluate is what the measurements take.
type Evaluate struct {
	Data   []string
	JSON   bool
	Export string

	Presets []string
	Methods []string

	Ways           int
	Shots          []string // whole numbers
	Mixes          []string
	Tasks          int
	Novel          string
	SplitSeed      uint64
	MetricEpisodes int

	Order             string
	EpisodeSize       int
	SupportBy         string
	MinRows           int
	Drift             float64
	Teach             float64
	TeachBy           string
	UnlabelledClasses float64
	Absent            float64
	Garbage           int
	WrongSupports     float64
	Trials            int

	K          int
	Plots      string
	Neighbours int
	Output     string
}

func (e *Evaluate) title() string { return "Evaluation" }

var (
	rivals         = []string{"1nn", "running-mean", "ridge", "logistic"}
	clusterMethods = []string{"slk-ms", "slk-means", "kmeans", "kmodes", "lk", "ncut", "kernel-kmeans"}
)

func (e *Evaluate) settings() []Setting {
	data := func(help, example string, commands ...string) []Setting {
		return takenBy(commands, define("data", &e.Data, nil, help).example(example).needed(commands...))
	}
	tasks := []string{"eval fewshot", "tune"}
	return slices.Concat(
		data("folders that hold X.npy and y.npy", "DIR,...", "eval fewshot", "eval cluster", "eval index", "tune"),
		data("folder that holds X.npy and y.npy", "DIR", "eval stream"),
		data("folder that holds the folders of the sets", "ROOT", "eval paper"),
		takenBy(with(evaluate, "tune"), define("json", &e.JSON, false, "print one JSON object a line in place of a table")),
		takenBy([]string{"eval fewshot", "eval stream", "eval cluster"},
			define("export", &e.Export, "", "folder to write the very tasks or stream to as .npy, for other tools").example("DIR"),
			define("preset", &e.Presets, []string{"default"}, "measured settings to start from; several are measured on the same tasks", eachOneOf(presets...)).example("NAME,..."),
		),
		takenBy([]string{"eval fewshot"},
			define("method", &e.Methods, nil, "how prototypes are fitted, the preset's if not given; several are measured on the same tasks", eachOneOf(methods...)).example("NAME,..."),
		),
		e.streamSettings(),
		takenBy([]string{"eval cluster"},
			define("method", &e.Methods, []string{"slk-means"}, "how to cluster; several see the same graph and starts", eachOneOf(clusterMethods...)).example("NAME,..."),
			define("k", &e.K, 10, "clusters to find", atLeast(2), atMost(1<<16)),
		),
		takenBy(tasks,
			define("ways", &e.Ways, 5, "classes of a task", atLeast(2), atMost(1<<16)),
			define("shots", &e.Shots, []string{"1", "5"}, "labelled rows a class").example("N,..."),
			define("mix", &e.Mixes, []string{"balanced", "dirichlet:2", "dirichlet:0.5", "absent"}, "how queries spread over the classes: balanced, dirichlet:A, absent").example("MIX,..."),
			define("tasks", &e.Tasks, 600, "tasks of each shots and mix", atLeast(1), atMost(1<<24)),
			define("novel", &e.Novel, "", "file of the classes that tasks draw from; else novel.npy beside the data, else half of the large classes").example("FILE.npy"),
			define("split-seed", &e.SplitSeed, 1, "chooses those classes where no file does"),
			define("metric-episodes", &e.MetricEpisodes, 20, "earlier tasks of other classes that the metric learns from; 0: none, every task is cold", atLeast(0), atMost(1<<16)),
		),
		takenBy([]string{"eval index"}, define("neighbours", &e.Neighbours, 5, "neighbours of each row", atLeast(1), atMost(1000))),
		takenBy([]string{"eval paper"}, define("plots", &e.Plots, "", "folder to write the plots to").example("DIR")),
		takenBy([]string{"tune"}, define("output", &e.Output, "", "file for the configuration that was found; else stdout").example("FILE.yaml")),
	)
}

func (e *Evaluate) streamSettings() []Setting {
	share := []bound[float64]{atLeast(0.), atMost(1.)}
	return takenBy([]string{"eval stream"},
		define("method", &e.Methods, nil, "the stage by one of the solver's methods, or a rival on the same labels; several answer the same streams", eachOneOf(append(slices.Clone(methods), rivals...)...)).example("NAME,..."),
		define("order", &e.Order, "rows", "order in which rows come: rows as they are, bursts (8 to 20 of a class, three classes at a time), class (one after the other), or a file of row numbers").example("ORDER|FILE.npy"),
		define("episode-size", &e.EpisodeSize, 100, "items that close an episode", atLeast(1), atMost(1<<20)),
		define("shots", &e.Shots, []string{"5"}, "labelled rows a class before the start; 0: none, clusters are scored").example("N,..."),
		define("support-by", &e.SupportBy, "class", "where labelled rows come from: class (at random), first (the first 10 of the class), or group:FILE.npy (at most two groups of the class)").example("class|first|group:FILE.npy"),
		define("min-rows", &e.MinRows, 0, "classes with fewer rows are left out; 0: 20 with support-by first, else shots + 1", atLeast(0)),
		define("trials", &e.Trials, 1, "streams drawn, with seed, seed + 1 and so on", atLeast(1), atMost(1<<16)),
		define("drift", &e.Drift, 0, "how far rows slide over the stream towards another class's mean", share...),
		define("teach", &e.Teach, 0, "share of the items that carry their label", share...),
		define("teach-by", &e.TeachBy, "random", "which items: random, carrying their label; later, random too, or those that the stage proposes for review: their label comes with the next episode", oneOf("random", "later", "review")),
		define("unlabelled-classes", &e.UnlabelledClasses, 0, "share of the classes without labelled rows, for the unknown score", share...),
		define("absent", &e.Absent, 0, "share of the classes that never come", share...),
		define("garbage", &e.Garbage, 0, "episodes of noise", atLeast(0), atMost(1<<16)),
		define("wrong-supports", &e.WrongSupports, 0, "share of the labelled rows with another class's label", share...),
	)
}

func (e *Evaluate) faults(c *Config) []Fault {
	least := 1
	if c.command == "eval stream" {
		least = 0
	}
	var found []Fault
	for _, text := range e.Shots {
		if n, err := strconv.Atoi(text); err != nil || n < least || n > 1<<16 {
			found = append(found, Fault{Setting: "shots", Problem: fmt.Sprintf("holds %s: must be whole numbers from %d to %d", shown(text), least, 1<<16)})
		}
	}
	if len(e.Shots) == 0 {
		found = append(found, Fault{Setting: "shots", Problem: "is empty: give at least one whole number"})
	}
	return found
}
