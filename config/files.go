package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/solver"
)

// Files holds the settings for the files that label reads and writes.
type Files struct {
	Input  string
	K      Clusters
	Output string
	Report string

	ClassVectors string
	SkipBad      bool
	AllLabelled  bool // a file without a row to answer is no error

	Calibrate bool   // fit confidence to held-out labelled rows
	Ordered   string // whether the order of the rows is informative: auto, true, false
}

func (f *Files) settings() []definition {
	label := []string{"label"}
	return []definition{
		define("input", &f.Input, []string{"label", "feed"}, "",
			"file of embeddings: .npy, .npz, .csv, .jsonl, .parquet, .arrow").
			example("FILE").neededBy("label", "feed"),
		define("k", &f.K, label, 0, "clusters to find without support; auto: the communities of the graph",
			atMost[Clusters](1<<20)).
			when("eval cluster", 10, "clusters to find; auto: the communities of the graph",
				atMost[Clusters](1<<16)),
		define("class-vectors", &f.ClassVectors, label, "",
			"file of one vector for each class, as a text encoder makes of its name; in a .npy file row 0 is of "+
				"class 0").
			example("FILE"),
		define("output", &f.Output, label, "", "file of labels: .jsonl, .csv, .npy, .npz, .parquet, .arrow").example("FILE").
			when("tune", "", "file for the numbers, which --solver takes; else stdout").example("FILE.yaml").neededBy("label"),
		define("ordered", &f.Ordered, []string{"label", "eval file"}, "auto",
			"whether neighbouring rows are often the same thing; auto: as far as the file shows it",
			oneOf("auto", "true", "false")),
		define("calibrate", &f.Calibrate, []string{"label", "eval file"}, true,
			"choose how the file is solved, and fit confidence, by labelled rows that are held out"),
		define("skip-bad", &f.SkipBad, label, false,
			"label the file without rows that hold no vector, such as NaN or zeros: their label is empty, OUTPUT.bad.jsonl lists them").
			when("feed", false, "leave out rows that hold no vector, such as NaN or zeros, and say how many"),
		define("allow-all-labelled", &f.AllLabelled, label, false,
			"label a file whose rows all have a label, of which none is to be answered: for its report, say"),
		define("report", &f.Report, label, "", "file for a page of sizes, confidence, confused pairs, examples and a map").
			example("FILE.html"),
	}
}

func (f *Files) check(c *Config, fault report) {
	if c.command != "label" {
		return
	}
	f.checkIdle(c, fault)
	read := append([]string{f.Input, f.ClassVectors, c.Stage.SupportLabels}, c.Stage.Support...)
	if f.Output != "-" && isOneOf(f.Output, read) {
		fault("output", "is %s, which is read: it would be overwritten", f.Output)
	}
	if isOneOf(f.Report, append(read, f.Output)) {
		fault("report", "is %s, which is another file of this command", f.Report)
	}
	switch {
	case f.K == 0 && len(c.Stage.Support) == 0 && f.ClassVectors == "" && strings.HasSuffix(f.Input, ".npy"): // other files may hold labels
		fault("support", "is not set and k is 0: give labelled examples, or the number of clusters with --k, or --class-vectors")
	case f.K != 0 && len(c.Stage.Support) > 0:
		fault("k", "is set and support too: the support names the classes, leave one out")
	}
}

// isOneOf says whether a path leads to one of some files; "" leads to none.
func isOneOf(path string, files []string) bool {
	own, _ := os.Stat(path)
	return path != "" && slices.ContainsFunc(files, func(file string) bool {
		other, err := os.Stat(file)
		same := own != nil && err == nil && os.SameFile(own, other)
		return same || file != "" && filepath.Clean(path) == filepath.Clean(file)
	})
}

// checkIdle reports settings that have no effect on what label does.
func (f *Files) checkIdle(c *Config, fault report) {
	refuse := func(why string, names ...string) {
		for _, name := range names {
			if c.Given(name) {
				fault(name, "means nothing %s", why)
			}
		}
	}
	switch method := c.Solver.Method(); {
	case method != "" && method != string(solver.SLKMeans) && c.Given("method"):
		refuse("with --method "+method+", which solves the rows as one episode", "calibrate", "class-vectors", "max-memory", "ordered",
			"unknown-rate")
	case f.K != 0:
		refuse("with --k, for clusters", "allow-all-labelled", "calibrate", "class-vectors", "ordered", "unknown-rate")
	}
	files := append(slices.Clone(c.Stage.Support), f.Input)
	if f.ClassVectors != "" {
		files = append(files, f.ClassVectors)
	}
	if !slices.ContainsFunc(files, func(file string) bool { return !strings.HasSuffix(file, ".npy") }) {
		refuse("for .npy, which has no columns", "fields")
	}
	if strings.HasSuffix(f.Input, ".npy") {
		refuse("for a .npy input, which has no labels", "allow-all-labelled")
	}
}

// Feed says how a file or the demo's belt is sent as a feed.
type Feed struct {
	LabelsFile string
	Key        string
	Keys       string
	Rate       float64
	Loop       bool
	For        time.Duration // 0: until stopped
}

func (f *Feed) settings() []definition {
	feed := []string{"feed"}
	return []definition{
		define("labels-file", &f.LabelsFile, feed, "",
			".npy file of classes, sent as each record's label: texts, or integers, -1 none").
			example("FILE"),
		define("key", &f.Key, feed, "", "key of every record").example("TEXT"),
		define("keys", &f.Keys, feed, "", ".npy file of one whole number a row, the key of its record").example("FILE"),
		define(
			"rate",
			&f.Rate,
			[]string{"feed", "dead replay"},
			0,
			"records a second; 0: as fast as the brokers take them",
			atLeast(0.),
		).
			when("demo", 40, "pictures a second", above(0.), atMost(10000.)).
			when("size", 5, "items a second of each camera", above(0.), atMost(1e6)),
		define("for", &f.For, []string{"demo"}, 0, "how long to run; off: until stopped", atLeast[time.Duration](0)),
		define("loop", &f.Loop, feed, false, "begin again at the end of the file, until stopped"),
	}
}

func (f *Feed) check(_ *Config, fault report) {
	if f.Key != "" && f.Keys != "" {
		fault("keys", "is %s and key is %s: leave one out", f.Keys, f.Key)
	}
}
