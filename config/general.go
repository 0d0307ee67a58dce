package config

import (
	"net"
	"strings"
	"time"
)

// General is what every command takes.
type General struct {
	File      string // the configuration file
	LogFormat string
	LogLevel  string
	Kernel    string
}

func (g *General) sections() []section {
	return []section{{"Every command", []definition{
		define("config", &g.File, every, "", "YAML file of settings, each under its own name").example("FILE"),
		define("log-format", &g.LogFormat, every, "text", "how logs on stderr are written", oneOf("text", "json")),
		define("log-level", &g.LogLevel, every, "info", "least severe log line that is written",
			oneOf("debug", "info", "warn", "error")),
		define("kernel", &g.Kernel, searching, "auto", "machine instructions for the numeric kernels",
			oneOf("auto", "avx512", "avx2", "neon", "portable")),
	}}}
}

// Listen is the one HTTP listener: page, metrics, health.
type Listen struct {
	Address   string // "" is none
	Open      bool
	Token     Secret
	TokenFile string
	ImageURL  string
	// ImageHosts are the hosts from which pictures that the feed names are shown.
	ImageHosts []string
}

func (l *Listen) sections() []section {
	served := []string{"run", "backfill", "demo"}
	return []section{{"Page, metrics and health", []definition{
		define("listen", &l.Address, []string{"run", "demo", "health", "state show"}, "127.0.0.1:8070",
			"address of page, metrics and health; port 0 takes a free one; empty: none").example("HOST:PORT").
			when("backfill", "", ""),
		define("image-url", &l.ImageURL, []string{"run", "demo"}, "",
			"where the page finds an item's picture: a URL in which {id} stands for the item's id; none: its image attribute").
			example("URL"),
		define("image-hosts", &l.ImageHosts, []string{"run", "demo"}, nil,
			"hosts from which the page shows pictures that the feed names, HOST or HOST:PORT; *: any; none: only those in the records themselves").
			example("HOST,..."),
		define("listen-open", &l.Open, served, false,
			"let everyone who reaches a listen address beyond loopback in without a token"),
		define("listen-token", &l.Token, with(served, "state show"), "",
			"token a visitor has to show, on every path but health; needed beyond loopback").secret(),
		define("listen-token-file", &l.TokenFile, with(served, "state show"), "",
			"file that holds the token").example("FILE"),
	}}}
}

// IsLoopback says whether only this machine can reach the listener.
func (l *Listen) IsLoopback() bool {
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *Listen) faults(c *Config) []Fault {
	if l.Address == "" || c.command == "health" {
		return nil
	}
	if _, _, err := net.SplitHostPort(l.Address); err != nil {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address + ": must be HOST:PORT"}}
	}
	for _, host := range l.ImageHosts {
		if strings.ContainsAny(host, " ;,'\"/") {
			return []Fault{{Setting: "image-hosts", Problem: "has " + host + ": must be HOST or HOST:PORT"}}
		}
	}
	if !l.IsLoopback() && l.Token == "" && !l.Open {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address +
			", which others can reach: needs listen-token-file, or listen-open to let everyone in"}}
	}
	return nil
}

// Demo is how long the demo runs.
type Demo struct {
	For time.Duration
}

func (d *Demo) sections() []section {
	return []section{{"Demo", []definition{
		define("for", &d.For, []string{"demo"}, 0, "how long to run; off: until stopped",
			atLeast[time.Duration](0)),
	}}}
}

// State picks what of the memory is shown or reset.
type State struct {
	Stream string
	Class  string
}

func (s *State) sections() []section {
	commands := []string{"state show", "state reset", "audit"}
	return []section{{"State", []definition{
		define("stream", &s.Stream, with(with(commands, deadLetters...), "tail"), "",
			"only this stream; none: all of them"),
		define("class", &s.Class, commands, "", "only this class; none: all of them"),
	}}}
}

// Tail picks what of a topic is shown.
type Tail struct {
	Unknown bool
	Count   int
}

func (t *Tail) sections() []section {
	const newest = "only the newest of these, so many; 0: all"
	tail := []string{"tail"}
	return []section{{"Tail", []definition{
		define("unknown", &t.Unknown, tail, false, "only items that are like nothing that is labelled"),
		define("count", &t.Count, tail, 0, "records to show before it ends; 0: until stopped", atLeast(0)).
			when("dead list", 0, newest).when("dead show", 0, newest).when("dead replay", 0, newest),
	}}}
}

// Check is what check does beyond looking.
type Check struct {
	Create     bool
	Compact    bool
	Partitions int
	Replicas   int
}

func (k *Check) sections() []section {
	check := []string{"check"}
	return []section{{"Check", []definition{
		define("create", &k.Create, check, false, "make the topics that are missing"),
		define("compact", &k.Compact, check, false,
			"have topics compacted that must be: a labels topic that a producer made is not"),
		define("partitions", &k.Partitions, check, 4,
			"partitions of a topic that is made, where no other topic decides",
			atLeast(1), atMost(10000)),
		define("replicas", &k.Replicas, check, 0, "copies of a topic that is made; 0: as the brokers are set",
			atLeast(0), atMost(32767)),
	}}}
}
