package config

import (
	"net"
	"slices"
	"strings"
	"time"
)

// General holds the settings of every command.
type General struct {
	File   string   // the configuration file
	Log    []string // a level, a form, or both
	Kernel string
}

func (g *General) sections() []section {
	return []section{{"Every command", []definition{
		define("config", &g.File, every, "", "YAML file of settings, each under its own name").example("FILE"),
		define("log", &g.Log, every, nil,
			"least severe line of the log on stderr, and how it is written: debug,json; none: info, text. "+
				"--log-level and --log-format set one of the two",
			eachOneOf(slices.Concat(logLevels, logForms)...)).example("LEVEL,FORM"),
		define("kernel", &g.Kernel, []string{
			SolverFile, "label", "tune", "eval fewshot", "eval stream", "eval cluster",
			"eval paper", "eval file", "eval index",
		}, "auto", "machine instructions for the numeric kernels",
			oneOf("auto", "avx512", "avx2", "neon", "portable")),
	}}}
}

var (
	logLevels = []string{"debug", "info", "warn", "error"}
	logForms  = []string{"text", "json"}
)

// LogLevel returns the lowest level that is logged.
func (g *General) LogLevel() string { return g.log(logLevels, "info") }

// LogForm returns the form of a log line.
func (g *General) LogForm() string { return g.log(logForms, "text") }

func (g *General) log(of []string, otherwise string) string {
	for _, given := range g.Log {
		if slices.Contains(of, given) {
			return given
		}
	}
	return otherwise
}

func (g *General) faults(*Config) []Fault {
	for _, of := range [][]string{logLevels, logForms} {
		n := 0
		for _, given := range g.Log {
			if slices.Contains(of, given) {
				n++
			}
		}
		if n > 1 {
			return []Fault{{Setting: "log", Problem: "is " + strings.Join(g.Log, ",") + ": must be one of " +
				strings.Join(logLevels, ", ") + " and one of " + strings.Join(logForms, ", ")}}
		}
	}
	return nil
}

// Listen is the one HTTP listener: page, metrics, health.
type Listen struct {
	At         []string // HOST:PORT, and advertise=HOST:PORT or advertise=URL
	Address    string   // of At; "": none
	Advertise  string   // of At; "": none is given
	TokenFiles []string // FILE, view=FILE, or none
	Token      Secret   // read from FILE
	ViewToken  Secret   // read from the file of view=: allows reading, not teaching
	UserHeader string
	Images     []string
}

func (l *Listen) sections() []section {
	served := []string{"run", "backfill", "correct", "demo"}
	return []section{{"Page, metrics and health", []definition{
		define("listen", &l.At, []string{"run", "demo", "health", "state show", "similar"},
			[]string{"127.0.0.1:8070"},
			"address of page, metrics and health; port 0 takes a free one; empty: none. Add advertise=HOST:PORT, or "+
				"--advertise HOST:PORT, if others reach this process at another address, as behind NAT; "+
				"a URL if not by http").
			example("HOST:PORT,...").
			when("backfill", nil, "").when("correct", nil, ""),
		define("images", &l.Images, []string{"run", "demo"}, nil,
			"where the page finds pictures: hosts, HOST or HOST:PORT, whose pictures the feed may name, * any; and a URL in which "+
				"{id} stands for the item's id; none: only those in the records themselves").
			example("HOST|URL,..."),
		define("listen-token-file", &l.TokenFiles, with(served, "state show", "similar"), nil,
			"file of the token that a visitor has to show, on every path but health. Required if --listen is not "+
				"loopback; the word none lets everyone in. Add view=FILE, or --view-token-file FILE, for a token "+
				"to read and not teach").
			example("FILE,..."),
		define("user-header", &l.UserHeader, []string{"run", "demo"}, "",
			"header in which a proxy that signs people in names who teaches; none: nobody is named").example("NAME"),
	}}}
}

const (
	viewing     = "view="      // prefix of the file with the token for reading
	advertising = "advertise=" // prefix of the address where others reach the listener
)

// divide finds Address and Advertise in At.
func (l *Listen) divide() {
	l.Address, l.Advertise = "", ""
	for _, at := range l.At {
		if to, is := strings.CutPrefix(at, advertising); is {
			l.Advertise = to
		} else {
			l.Address = at
		}
	}
}

// tokenFiles returns the files of the tokens for teaching and for reading; open: no token is needed.
func (l *Listen) tokenFiles() (teach, read string, open bool) {
	for _, file := range l.TokenFiles {
		if view, is := strings.CutPrefix(file, viewing); is {
			read = view
		} else if teach = file; file == "none" {
			teach, open = "", true
		}
	}
	return teach, read, open
}

// ImageURL returns the URL of an item's picture; "" if none is given.
func (l *Listen) ImageURL() string {
	for _, image := range l.Images {
		if strings.Contains(image, "{id}") {
			return image
		}
	}
	return ""
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
	given := 0
	for _, at := range l.At {
		if !strings.HasPrefix(at, advertising) {
			given++
		}
	}
	if given > 1 || len(l.At)-given > min(1, given) {
		return []Fault{{Setting: "listen", Problem: "is " + strings.Join(l.At, ",") +
			": must be one HOST:PORT, and beside it one advertise=HOST:PORT or none"}}
	}
	if l.Advertise != "" && !strings.Contains(l.Advertise, "://") {
		if _, _, err := net.SplitHostPort(l.Advertise); err != nil {
			return []Fault{{Setting: "listen", Problem: "advertises " + l.Advertise + ": must be HOST:PORT or a URL"}}
		}
	}
	if l.Address == "" || c.command == "health" || c.command == "similar" {
		return nil
	}
	if _, _, err := net.SplitHostPort(l.Address); err != nil {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address + ": must be HOST:PORT"}}
	}
	for _, host := range l.Images {
		if !strings.Contains(host, "{id}") && strings.ContainsAny(host, " ;,'\"/") {
			return []Fault{{Setting: "images", Problem: "has " + host + ": must be HOST, HOST:PORT or a URL with {id}"}}
		}
	}
	given = 0
	for _, file := range l.TokenFiles {
		if !strings.HasPrefix(file, viewing) {
			given++
		}
	}
	if given > 1 || len(l.TokenFiles)-given > 1 {
		return []Fault{{Setting: "listen-token-file", Problem: "is " + strings.Join(l.TokenFiles, ",") +
			": must be one FILE, or none, and one view=FILE"}}
	}
	if l.ViewToken != "" && (l.Token == "" || l.Token == l.ViewToken) {
		return []Fault{{
			Setting: "listen-token-file", Problem: "names a token to read: needs another token beside it, for those who teach",
		}}
	}
	_, _, open := l.tokenFiles()
	if !l.IsLoopback() && l.Token == "" && !open {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address +
			", which others can reach: needs listen-token-file, FILE or none to let everyone in"}}
	}
	return nil
}

// Demo holds the settings of the demo.
type Demo struct {
	For time.Duration
}

func (d *Demo) sections() []section {
	return []section{{"Demo", []definition{
		define("for", &d.For, []string{"demo"}, 0, "how long to run; off: until stopped",
			atLeast[time.Duration](0)),
	}}}
}

// State selects the state to show or reset.
type State struct {
	Stream    string
	Class     string
	Partition int // of the input; -1: not given
}

func (s *State) sections() []section {
	commands := with(labelTopic, "state show", "state reset", "audit")
	return []section{{"State", []definition{
		define("stream", &s.Stream, with(with(commands, deadLetters...), "tail", "pause", "resume", "state export",
			"state import"), "",
			"only this stream; none: all of them"),
		define("partition", &s.Partition, []string{"pause", "resume"}, -1,
			"only this partition of the input; -1: all of them", atLeast(-1)),
		define("class", &s.Class, commands, "", "only this class; none: all of them"),
	}}}
}

// Tail selects the records of a topic to show.
type Tail struct {
	Unknown bool
	Count   int
	Full    bool
	Raw     bool
}

func (t *Tail) sections() []section {
	const newest = "only the newest of these, so many; 0: all"
	tail := []string{"tail"}
	return []section{{"Tail", []definition{
		define("unknown", &t.Unknown, tail, false, "only items that are like nothing that is labelled"),
		define("raw", &t.Raw, []string{"tail", "state show", "dead show"}, false,
			"print what senders wrote as it is, whole, with whatever steers a terminal"),
		define("full", &t.Full, tail, false, "show attributes whole, however long"),
		define("count", &t.Count, tail, 0, "records to show before it ends; 0: until stopped", atLeast(0)).
			when("similar", 10, "items to show", atLeast(1), atMost(100)).
			when("dead list", 0, newest).when("dead show", 0, newest).when("dead replay", 0, newest),
	}}}
}

// Similar names the item of the query.
type Similar struct {
	ID string
}

func (s *Similar) sections() []section {
	return []section{{"Similar", []definition{
		define("id", &s.ID, []string{"similar"}, "", "the item, by its own id or that of its result").
			example("ID").neededBy("similar", "skip").
			when("skip", "", "the record, by the id that its result would have: TOPIC/PARTITION/OFFSET"),
	}}}
}

// Check says what check does beyond reading.
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
