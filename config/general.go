package config

// General is what every command takes.
type General struct {
	File      string // the configuration file
	LogFormat string
	LogLevel  string
	Kernel    string
}

func (g *General) title() string { return "Every command" }

func (g *General) settings() []Setting {
	return append(takenBy(every,
		define("config", &g.File, "", "YAML file of settings, each under its own name").example("FILE"),
		define("log-format", &g.LogFormat, "text", "how logs on stderr are written", oneOf("text", "json")),
		define("log-level", &g.LogLevel, "info", "least severe log line that is written", oneOf("debug", "info", "warn", "error")),
	), takenBy(searching,
		define("kernel", &g.Kernel, "auto", "machine instructions for the numeric kernels", oneOf("auto", "avx512", "avx2", "neon", "portable")),
	)...)
}

func (g *General) faults(*Config) []Fault { return nil }
