package config

import (
	"slices"
	"strconv"
	"strings"
)

// Evaluate holds the settings of the measurements.
type Evaluate struct {
	Data   []string
	Export string

	Ways           int
	Shots          []string // whole numbers
	ShotCounts     []int    // Shots as numbers
	Mixes          []string
	Tasks          int
	Novel          string
	SplitSeed      uint64
	MetricEpisodes int

	Order             string
	SupportBy         string
	Frame             string
	Track             string
	MinRows           int
	Drift             float64
	Teach             float64
	TeachBy           string
	UnlabelledClasses float64
	VectorRows        int
	Names             bool
	Newcomers         float64
	Absent            float64
	Garbage           int
	WrongSupports     float64
	Nobody            string
	Trials            int

	Plots      string
	Neighbours int

	Streams      []string // whole numbers
	StreamCounts []int    // Streams as numbers
	Shift        float64
}

func (e *Evaluate) settings() []definition {
	sets := []string{"eval fewshot", "eval file", "eval cluster", "eval index", "eval identities", "tune"}
	tasks, paper := []string{"eval fewshot", "tune"}, []string{"eval paper"}
	return slices.Concat([]definition{
		define("data", &e.Data, sets, nil, "folders that hold X.npy and y.npy, or files of labelled rows (--fields)").
			example("DIR|FILE,...").
			when("eval stream", nil, "folder that holds X.npy and y.npy, or a file of labelled rows (--fields)").example("DIR|FILE").
			when("eval paper", nil, "folder that holds the folders of the sets").example("ROOT").neededBy(measuring...),
		define("export", &e.Export, []string{"eval fewshot", "eval stream", "eval file", "eval cluster"}, "",
			"folder for the tasks or the stream as .npy, for other tools").example("DIR"),
		define("shots", &e.Shots, tasks, []string{"1", "5"}, "labelled rows per class").example("N,...").
			when("eval stream", []string{"5"}, "labelled rows per class before the start; 0: none, clusters are scored without --names").
			when("eval file", []string{"1", "3", "5"}, "labelled rows per class"),
		define("ways", &e.Ways, tasks, 5, "classes of a task", atLeast(2), atMost(1<<16)),
		define("mix", &e.Mixes, tasks, []string{"balanced", "dirichlet:2", "dirichlet:0.5", "absent"},
			"how queries spread over the classes: balanced, dirichlet:A, absent, few:FROM-TO:N (N queries of so "+
				"many of the classes)").example("MIX,..."),
		define("tasks", &e.Tasks, tasks, 600, "tasks of each shots and mix", atLeast(1), atMost(1<<24)),
		define("novel", &e.Novel, tasks, "",
			"file of the classes that tasks draw from; else novel.npy beside the data, else half of the large classes").
			example("FILE.npy"),
		define("split-seed", &e.SplitSeed, tasks, 1, "chooses those classes where no file does"),
		define("metric-episodes", &e.MetricEpisodes, []string{"eval fewshot"}, 20,
			"earlier tasks of other classes that the metric learns from; 0: none, every task is cold", atLeast(0),
			atMost(1<<16)).
			when("tune", 0, "with --for tasks: earlier tasks of other classes that the metric learns from; run has none"),
	}, e.stream(), []definition{
		define("neighbours", &e.Neighbours, []string{"eval index"}, 5, "neighbours of each row", atLeast(1),
			atMost(1000)),
		define("streams", &e.Streams, []string{"eval identities"}, []string{"4", "16"},
			"streams that the classes come to, each to two or more of them").example("N,..."),
		define("shift", &e.Shift, []string{"eval identities"}, 0.,
			"how far each stream turns its rows towards a space of its own, with an offset, a scale and noise", atLeast(0.), atMost(1.)),
		define("plots", &e.Plots, paper, "", "folder to write the plots to").example("DIR"),
	})
}

// stream defines the settings of eval stream alone.
func (e *Evaluate) stream() []definition {
	stream := []string{"eval stream"}
	fraction := []bound{atLeast(0.), atMost(1.)}
	return []definition{
		define("order", &e.Order, stream, "rows", "order in which rows come: rows as they are, bursts (8 to 20 of "+
			"a class, three classes at a time), class (one after the other), shuffled, dirichlet:A (the smaller A, "+
			"the longer a class stays), or a file of row numbers").example("ORDER|FILE.npy").
			when("eval file", "rows", "order of the rows: as they are, in bursts of a class, class after class, or shuffled",
				oneOf("rows", "bursts", "class", "shuffled")).
			when("tune", "bursts", "order of the rows of a stream or file: as they are, in bursts of a class, class after class, or shuffled",
				oneOf("rows", "bursts", "class", "shuffled")),
		define("support-by", &e.SupportBy, stream, "class",
			"where labelled rows come from: class (at random), first "+
				"(the first 10 of the class), or group:FILE.npy (at most two groups of the class)").
			example("class|first|group:FILE.npy"),
		define("frame", &e.Frame, stream, "", "file of the frame of each row, below 0: none").example("FILE.npy"),
		define("track", &e.Track, stream, "", "file of the track of each row, below 0: none").example("FILE.npy"),
		define("min-rows", &e.MinRows, stream, 0,
			"classes with fewer rows are left out; 0: 20 with support-by first, else shots + 1", atLeast(0)),
		define("trials", &e.Trials, with(stream, "eval file"), 1, "streams drawn, with seed, seed + 1 and so on",
			atLeast(1), atMost(1<<16)).
			when("tune", 9, "streams or files of each set and shots"),
		define("drift", &e.Drift, stream, 0, "how far rows slide over the stream towards another class's mean",
			fraction...),
		define("teach", &e.Teach, with(stream, "tune"), 0, "share of the items that carry their label", fraction...),
		define("teach-by", &e.TeachBy, stream, "random",
			"which items: random, carrying their label; later, random too, or "+
				"those that the stage proposes for review: their label comes with the next episode",
			oneOf("random", "later", "review")),
		define("unlabelled-classes", &e.UnlabelledClasses, with(stream, "eval file"), 0,
			"share of the classes without labelled rows, for the unknown score", fraction...),
		define("class-vectors-from", &e.VectorRows, []string{"eval file"}, 0,
			"rows of each class, left out of the file, whose mean is its class vector, in the place of a text "+
				"encoder's; 0: no class vectors", atLeast(0), atMost(1<<10)),
		define("names", &e.Names, stream, false, "the vector of each class's name, of names.npy beside the data, "+
			"is an example of the class too; with --shots 0 the only one").
			when("eval file", false, "each class has the vector of its name, of names.npy beside the data; with --shots 0 nothing else"),
		define("newcomers", &e.Newcomers, stream, 0,
			"share of the classes that have no labelled rows and come in the second half only", fraction...),
		define("nobody", &e.Nobody, stream, "out",
			"rows without a class, such as false detections: out, they never come; unknown, they come and no label "+
				"names them; taught, --teach gives labels to some of them as well, of a class \"nobody\"",
			oneOf("out", "unknown", "taught")).
			when("eval file", "out", "rows without a class: out, they are left out; unknown, they are in the file", oneOf("out", "unknown")),
		define("absent", &e.Absent, stream, 0, "share of the classes that never come", fraction...),
		define("garbage", &e.Garbage, stream, 0, "episodes of noise", atLeast(0), atMost(1<<16)),
		define("wrong-supports", &e.WrongSupports, with(stream, "eval file"), 0,
			"share of the labelled rows with another class's label",
			fraction...),
	}
}

func (e *Evaluate) check(c *Config, fault report) {
	least := 1
	if c.command == "eval stream" || e.VectorRows > 0 || e.Names {
		least = 0
	}
	e.ShotCounts = wholes("shots", e.Shots, least, 1<<16, fault)
	e.StreamCounts = wholes("streams", e.Streams, 2, 1<<10, fault)
	if c.command == "tune" {
		e.checkTune(c, fault)
	}
}

// wholes returns a list of whole numbers from least to most, and reports what is none.
func wholes(setting string, list []string, least, most int, fault report) (numbers []int) {
	for _, text := range list {
		n, err := strconv.Atoi(text)
		if numbers = append(numbers, n); err != nil || n < least || n > most {
			fault(setting, "holds %s: must be whole numbers from %d to %d", shown(text), least, most)
		}
	}
	if len(list) == 0 {
		fault(setting, "is empty: give at least one whole number")
	}
	return numbers
}

// checkTune reports settings that have no effect on what tune measures. It first sets For to tasks if For is
// not given but a setting of tasks is.
func (e *Evaluate) checkTune(c *Config, fault report) {
	ofTasks := []string{"ways", "mix", "tasks", "novel", "split-seed", "metric-episodes"}
	if !c.Given("for") && slices.ContainsFunc(ofTasks, c.Given) {
		c.Solver.For = "tasks"
	}
	for _, of := range []struct {
		purpose string
		names   []string
	}{{"tasks", ofTasks}, {"stream or file", []string{"order", "trials"}}, {"stream", []string{"teach", "episode-size"}}} {
		for _, name := range of.names {
			if c.Given(name) && !strings.Contains(of.purpose, c.Solver.For) {
				fault(name, "means nothing with --for %s: it is for %s", c.Solver.For, of.purpose)
			}
		}
	}
}
