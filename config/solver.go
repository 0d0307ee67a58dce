package config

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
)

// Solver holds the settings of the objective and its descent. A nil field was not given: the
// preset's value holds.
type Solver struct {
	File           string   // a solver file, instead of a preset
	For            string   // purpose of the numbers: stream, tasks, file
	Presets        []string // one, except in measurements that compare several
	Methods        []string // none: the preset's
	Lambda         *float64
	Rho            *int
	EdgeDecay      *float64
	Tau            *float64
	Pull           *float64
	Kappa          *float64
	Sigma          *float64
	Beta           *float64
	PriorCounts    *float64
	LabelWeight    *float64
	Outer          *int
	Inner          *int
	Anneal         *float64
	AnnealSteps    *int
	Tolerance      *float64
	Power          *float64
	MetricRank     *int
	MetricShrink   *float64
	MetricBetween  *float64
	BiasCorrection *bool
	Seed           uint64
}

// The names of presets and methods, from the packages that know them. Rivals are for eval stream only, the
// others for the measurement of their name.
var (
	presets     = texts(solver.Presets)
	methods     = texts(solver.Methods)
	rivals      = evaluate.Rivals
	fileMethods = evaluate.FileMethods
	purposes    = []string{"stream", "tasks", "file"}
)

// texts returns names as plain texts.
func texts[T ~string](names []T) (out []string) {
	for _, name := range names {
		out = append(out, string(name))
	}
	return out
}

// solverTakers are the commands that take a solver file.
var solverTakers = with(stage, "audit", "label", "eval fewshot", "eval stream", "eval file")

func (s *Solver) settings() []definition {
	measured := []string{"tune", "eval fewshot", "eval stream", "eval cluster", "eval paper"}
	solving := with(measured, SolverFile)
	return []definition{
		define("solver", &s.File, solverTakers, "",
			"file of every number of the solver, as tune writes it; none: the measured defaults").example("FILE"),
		define("for", &s.For, []string{SolverFile}, "", "what the numbers are for", oneOf(purposes...)).
			when("tune", "stream", "what to measure: a stream that learns, as run does; tasks on their own, as run does with "+
				"--warm=false; a file, as label does. Where a setting of tasks is given, tasks"),
		define("preset", &s.Presets, []string{"eval fewshot", "eval stream", "eval cluster"}, []string{"default"},
			"measured settings to start from; several are measured on the same tasks",
			eachOneOf(presets...)).example("NAME,..."),
		define("method", &s.Methods, []string{"label", "tune", SolverFile}, nil, "how prototypes are fitted",
			exactlyOneOf(methods...)).example("NAME").
			when("eval fewshot", nil,
				"how prototypes are fitted, the preset's if not given, or a rival's updates; several are measured on "+
					"the same tasks",
				eachOneOf(slices.Concat(methods, evaluate.Updates)...)).example("NAME,...").
			when("eval stream", nil,
				"the stage by one of the solver's methods, or a rival on the same labels; several answer the same streams",
				eachOneOf(slices.Concat(methods, rivals)...)).example("NAME,...").
			when("eval file", []string{"default"}, "how to label: default is label's way, episodes the stage's over the file; "+
				"several see the same files", eachOneOf(fileMethods...)).example("NAME,...").
			when("eval cluster", []string{string(solver.SLKMeans)}, "how to cluster; several see the same graph and starts",
				eachOneOf(evaluate.ClusterMethods...)).example("NAME,..."),
		define("lambda", &s.Lambda, solving, nil, "weight of the graph against the prototypes", atLeast(0.)),
		define("rho", &s.Rho, solving, nil, "graph neighbours of each item", atLeast(0), atMost(1000)),
		define("edge-decay", &s.EdgeDecay, solving, nil,
			"weight of each further neighbour as a share of the one before; 1: equal weights", above(0.), atMost(1.)),
		define("tau", &s.Tau, solving, nil, "weight of the distance to a prototype", atLeast(0.)),
		define("pull", &s.Pull, solving, nil, "pull of means to the unit sphere: 0 K-means, 1 spherical", atLeast(0.),
			atMost(1.)),
		define("kappa", &s.Kappa, solving, nil, "height of a mode's kernel", above(0.)),
		define("sigma", &s.Sigma, solving, nil, "width of a mode's kernel; 0: estimated", atLeast(0.)),
		define("beta", &s.Beta, solving, nil, "weight of the class proportions", atLeast(0.)),
		define("prior-counts", &s.PriorCounts, solving, nil, "prior counts of the class proportions", atLeast(0.)),
		define("label-weight", &s.LabelWeight, solving, nil, "weight of a labelled item in its prototype",
			atLeast(0.)),
		define("outer", &s.Outer, solving, nil, "most prototype steps", atLeast(1), atMost(10000)),
		define("inner", &s.Inner, solving, nil, "assignment sweeps for each prototype step", atLeast(1),
			atMost(10000)),
		define("anneal", &s.Anneal, solving, nil,
			"what tau, kappa and lambda are multiplied by at first, rising to 1; 1: not at all", above(0.),
			atMost(1.)),
		define("anneal-steps", &s.AnnealSteps, solving, nil,
			"prototype steps until anneal has risen to 1", atLeast(0),
			atMost(10000)),
		define("tolerance", &s.Tolerance, solving, nil, "mean change of the assignments at which a solve stops",
			atLeast(0.)),
		define("power", &s.Power, solving, nil,
			"exponent on each number of an embedding, its sign kept", above(0.)),
		define("metric-rank", &s.MetricRank, solving, nil,
			"directions that the learned metric shrinks; 0: no metric",
			atLeast(0), atMost(4096)),
		define("metric-shrink", &s.MetricShrink, solving, nil,
			"share of the plain metric that is kept", above(0.),
			below(1.)),
		define("metric-between", &s.MetricBetween, solving, nil,
			"how far the learned metric shrinks directions in which classes hardly differ; 0: not at all",
			atLeast(0.)),
		define("bias-correction", &s.BiasCorrection, measured, nil,
			"move the items by the difference of the means of labelled and unlabelled"),
		define("seed", &s.Seed, with(measured, "label", SolverFile, "demo", "eval file", "eval index", "eval identities", "sample"), 1,
			"start of every random choice"),
	}
}

// Preset returns the preset of a command that takes one.
func (s *Solver) Preset() string {
	if len(s.Presets) == 0 {
		return ""
	}
	return s.Presets[0]
}

// Method returns the method of a command that takes one; "": the preset's.
func (s *Solver) Method() string {
	if len(s.Methods) == 0 {
		return ""
	}
	return s.Methods[0]
}

func (s *Solver) check(c *Config, fault report) {
	if len(s.Presets) == 0 {
		fault("preset", "is empty: name at least one")
	}
	if s.File != "" && c.Given("preset") {
		fault("solver", "is %s, and preset is set too: the file has every number", s.File)
	}
}

// Index holds the settings of the neighbour search.
type Index struct {
	Method      string
	RecallFloor float64
}

func (i *Index) settings() []definition {
	return []definition{
		define(
			"index",
			&i.Method,
			[]string{SolverFile, "label", "eval index", "eval cluster"},
			"auto",
			"how neighbours are searched for; small episodes always exactly; hnsw not on Windows",
			oneOf(index.Methods()...),
		),
		define("recall-floor", &i.RecallFloor, []string{SolverFile, "label", "eval index"}, .95,
			"share of true neighbours an approximate search must find, else the search is exact", above(0.),
			atMost(1.)),
	}
}

// SolverFile stands for a command under which the settings of a solver file are defined.
const SolverFile = "solver"

// Purposes returns the purposes that a solver file's numbers may have.
func Purposes() []string { return purposes }

// Numbers returns the settings of a solver file, with their values in c.
func (c *Config) Numbers() []Setting { return c.settingsOf(SolverFile) }

// Misplaced says where a number of the solver goes that the command takes in a solver file only; "" of any other name.
func Misplaced(command, name string) string {
	c := &Config{command: command}
	isNumber := slices.ContainsFunc(c.Numbers(), func(s Setting) bool { return s.Name == name && name != "for" })
	if !isNumber || c.takes(name) || !slices.Contains(solverTakers, command) {
		return ""
	}
	return name + " is a number of the solver: give it in a file, --solver FILE, as slkstream config solver prints it"
}

// readSolver takes every number from the file that the setting solver names, except those that
// are given themselves.
func (c *Config) readSolver() Faults {
	name := c.Solver.File
	if name == "" || !c.takes("solver") {
		return nil
	}
	var known []string
	for _, s := range c.Numbers() {
		known = append(known, s.Name)
	}
	entries, faults := readFile(name, "solver", known)
	if entries == nil && len(faults) > 0 {
		return faults
	}
	fail := func(at, format string, args ...any) {
		faults = append(faults, Fault{Problem: at + ": " + fmt.Sprintf(format, args...)})
	}
	var missing []string
	for _, s := range c.Numbers() {
		e, found := entries[s.Name]
		switch {
		case !found || len(e.values) == 0:
			missing = append(missing, s.Name)
		case c.Given(s.Name) && s.Name != "for": // given for this run
		case s.Name == "method" && c.command == "eval file": // eval file compares several
		case s.Name == "seed" && c.takes("seed"): // it decides what is drawn, too
		default:
			if err := s.set(e.values); err != nil {
				fail(e.origin.Where, "%s: %v", s.Name, err)
			} else if problem := s.breach(); problem != "" {
				fail(e.origin.Where, "%s %s", s.Name, problem)
			}
		}
	}
	if len(missing) > 0 {
		fail(name, "%s missing: a solver file has every number, as slkstream tune and slkstream config solver "+
			"write them", strings.Join(missing, ", "))
	}
	files := []string{"label", "eval file"}
	if of := c.Solver.For; of != "" && (of == "file") != slices.Contains(files, c.command) {
		fail(name, "its numbers are for %s: %s needs a file from tune --for %s", of, c.command,
			map[bool]string{true: "file", false: "stream"}[slices.Contains(files, c.command)])
	}
	return faults
}

// WriteSolver writes a solver file: a heading, and each number with its help.
func WriteSolver(w io.Writer, heading string, values map[string]string) error {
	var text strings.Builder
	for line := range strings.Lines(heading) {
		text.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, s := range new(Config).Numbers() {
		fmt.Fprintf(&text, "%-24s # %s%s\n", s.Name+": "+scalar(values[s.Name]), s.Help, inBrackets(s.Bound()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
