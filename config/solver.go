package config

// Solver is the objective and its descent. A nil field was not given: the preset's value holds.
type Solver struct {
	Preset         string
	Method         *string
	Lambda         *float64
	Rho            *int
	Tau            *float64
	U              *float64
	Kappa          *float64
	Sigma          *float64
	Beta           *float64
	CPI            *float64
	WS             *float64
	Outer          *int
	Inner          *int
	Tolerance      *float64
	Power          *float64
	MetricRank     *int
	MetricShrink   *float64
	BiasCorrection *bool
	Seed           uint64
}

var (
	presets = []string{"default", "balanced", "clamped", "paper"}
	methods = []string{"slk-means", "slk-ms", "kmeans", "kmodes", "laplacianshot", "nearest"}
)

func (s *Solver) title() string { return "Solver (a number that is not given is the preset's)" }

func (s *Solver) settings() []Setting {
	return append(takenBy(with(stage, "label", "tune"),
		define("preset", &s.Preset, "default", "measured settings to start from", oneOf(presets...)),
		optional("method", &s.Method, "how prototypes are fitted", oneOf(methods...)),
	), append(takenBy(solving,
		optional("lambda", &s.Lambda, "weight of the graph against the prototypes", atLeast(0.)),
		optional("rho", &s.Rho, "graph neighbours of each item", atLeast(0), atMost(1000)),
		optional("tau", &s.Tau, "weight of the distance to a prototype", atLeast(0.)),
		optional("u", &s.U, "pull of means to the unit sphere: 0 K-means, 1 spherical", atLeast(0.), atMost(1.)),
		optional("kappa", &s.Kappa, "height of a mode's kernel", above(0.)),
		optional("sigma", &s.Sigma, "width of a mode's kernel; 0: estimated", atLeast(0.)),
		optional("beta", &s.Beta, "weight of the class proportions", atLeast(0.)),
		optional("cpi", &s.CPI, "prior counts of the class proportions", atLeast(0.)),
		optional("ws", &s.WS, "weight of a labelled item in its prototype; 0: by the number of classes", atLeast(0.)),
		optional("outer", &s.Outer, "most prototype steps", atLeast(1), atMost(10000)),
		optional("inner", &s.Inner, "assignment sweeps for each prototype step", atLeast(1), atMost(10000)),
		optional("tolerance", &s.Tolerance, "mean change of the assignments at which a solve stops", atLeast(0.)),
		optional("power", &s.Power, "exponent on each number of an embedding, its sign kept", above(0.)),
		optional("metric-rank", &s.MetricRank, "directions that the learned metric shrinks; 0: no metric", atLeast(0), atMost(4096)),
		optional("metric-shrink", &s.MetricShrink, "share of the plain metric that is kept", above(0.), below(1.)),
		optional("bias-correction", &s.BiasCorrection, "move the items by the difference of the means of labelled and unlabelled"),
	), takenBy(with(searching, "feed"),
		define("seed", &s.Seed, 1, "start of every random choice"),
	)...)...)
}

func (s *Solver) faults(*Config) []Fault { return nil }
