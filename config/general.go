package config

import (
	"log/slog"
	"net"
	"slices"
	"strings"
)

// General holds the settings of every command.
type General struct {
	File   string   // the configuration file
	Log    []string // a level, a form, or both
	Kernel string
}

func (g *General) settings() []definition {
	return []definition{
		define("config", &g.File, every, "", "YAML file of settings, each under its own name").example("FILE"),
		define("log", &g.Log, every, nil,
			"least severe line of the log on stderr, and how it is written: debug,json; none: info, text. "+
				"--log-level and --log-format set one of the two",
			eachOneOf(slices.Concat(logLevels, logForms)...)).example("LEVEL,FORM"),
		define("kernel", &g.Kernel, []string{
			SolverFile, "label", "tune", "eval fewshot", "eval stream", "eval cluster",
			"eval paper", "eval file", "eval index", "eval identities",
		}, "auto", "machine instructions for the numeric kernels",
			oneOf("auto", "avx512", "avx2", "neon", "portable")),
	}
}

var (
	logLevels = []string{"debug", "info", "warn", "error"}
	logForms  = []string{"text", "json"}
)

// Level returns the lowest level that is logged.
func (g *General) Level() (level slog.Level) {
	for _, given := range g.Log {
		if level.UnmarshalText([]byte(given)) == nil {
			return level
		}
	}
	return slog.LevelInfo
}

// LogJSON says whether a log line is JSON.
func (g *General) LogJSON() bool { return slices.Contains(g.Log, "json") }

func (g *General) check(_ *Config, fault report) {
	levels := 0
	for _, given := range g.Log {
		if slices.Contains(logLevels, given) {
			levels++
		}
	}
	if levels > 1 || len(g.Log)-levels > 1 {
		fault("log",
			"is %s: must be one of %s and one of %s", strings.Join(g.Log, ","), strings.Join(logLevels, ", "),
			strings.Join(logForms, ", "))
	}
}

// Listen is the one HTTP listener: page, metrics, health.
type Listen struct {
	At         []string // HOST:PORT, and advertise=HOST:PORT or advertise=URL, cert=FILE, key=FILE
	Address    string   // of At; "": none
	Advertise  string   // of At; "": none is given
	TokenFiles []string // FILE, view=FILE, or none
	Token      Secret   // read from FILE
	ViewToken  Secret   // read from the file of view=: allows reading, not teaching
	Cert, Key  string   // of At: PEM files; "": no TLS
	UserHeader string
	Images     []string
}

func (l *Listen) settings() []definition {
	served := []string{"run", "backfill", "correct", "demo"}
	return []definition{
		define("listen", &l.At, with([]string{"run", "demo", "health", "state show"}, asking...),
			[]string{"127.0.0.1:8070"},
			"address of page, metrics and health; port 0 takes a free one; empty: none. Add advertise=HOST:PORT, or "+
				"--advertise HOST:PORT, if others reach this process at another address, as behind NAT; "+
				"a URL if not by http. Add cert=FILE and key=FILE, or --listen-cert FILE and --listen-key FILE, to speak TLS "+
				"with this PEM certificate, which is read again when it is renewed; commands that ask a stage trust it").
			example("HOST:PORT,...").
			when("backfill, correct", nil, ""),
		define("images", &l.Images, []string{"run", "demo"}, nil,
			"where the page finds pictures: hosts, HOST or HOST:PORT, whose pictures the feed may name, * any; and a URL in which "+
				"{id} stands for the item's id; none: only those in the records themselves").
			example("HOST|URL,..."),
		define("listen-token-file", &l.TokenFiles, slices.Concat(served, []string{"state show"}, asking), nil,
			"file of the token that a visitor has to show, on every path but health. Required if --listen is not "+
				"loopback; the word none lets everyone in. Add view=FILE, or --view-token-file FILE, for a token "+
				"to read and not teach").
			example("FILE,..."),
		define("user-header", &l.UserHeader, []string{"run", "demo"}, "",
			"header in which a proxy that signs people in names who teaches; none: nobody is named").example("NAME"),
	}
}

const (
	viewing     = "view="      // prefix of the file with the token for reading
	advertising = "advertise=" // prefix of the address where others reach the listener
	certifying  = "cert="      // prefix of the file with the listener's certificate
	keying      = "key="       // prefix of the file with its key
)

// divide finds Address, Advertise, Cert and Key in At.
func (l *Listen) divide() {
	at, advertised, certs, keys := l.parts()
	l.Address, l.Advertise, l.Cert, l.Key = last(at), last(advertised), last(certs), last(keys)
}

// parts returns the elements of At by their kinds.
func (l *Listen) parts() (at, advertised, certs, keys []string) {
	at, advertised = divided(l.At, advertising)
	at, certs = divided(at, certifying)
	at, keys = divided(at, keying)
	return at, advertised, certs, keys
}

// tokenFiles returns the files of the tokens for teaching and for reading; open: no token is needed.
func (l *Listen) tokenFiles() (teach, read string, open bool) {
	all, view := divided(l.TokenFiles, viewing)
	if teach = last(all); teach == "none" {
		return "", last(view), true
	}
	return teach, last(view), false
}

// divided separates the elements of a list that begin with a prefix, and takes it off.
func divided(list []string, prefix string) (plain, marked []string) {
	for _, text := range list {
		if rest, is := strings.CutPrefix(text, prefix); is {
			marked = append(marked, rest)
		} else {
			plain = append(plain, text)
		}
	}
	return plain, marked
}

// last returns the last element of a list; "" if it has none.
func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
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

func (l *Listen) check(c *Config, fault report) {
	at, advertised, certs, keys := l.parts()
	if len(at) > 1 || max(len(advertised), len(certs), len(keys)) > min(1, len(at)) {
		fault("listen", "is %s: must be one HOST:PORT, and beside it at most one advertise=HOST:PORT, cert=FILE and key=FILE",
			strings.Join(l.At, ","))
		return
	}
	if l.Advertise != "" && !strings.Contains(l.Advertise, "://") {
		if _, _, err := net.SplitHostPort(l.Advertise); err != nil {
			fault("listen", "advertises %s: must be HOST:PORT or a URL", l.Advertise)
		}
	}
	if l.Address == "" || c.command == "health" || slices.Contains(asking, c.command) {
		return
	}
	if _, _, err := net.SplitHostPort(l.Address); err != nil {
		fault("listen", "is %s: must be HOST:PORT", l.Address)
		return
	}
	if served := c.command != "state show"; served && (l.Cert == "") != (l.Key == "") {
		fault("listen", "has one of cert=FILE and key=FILE: they go together")
	}
	for _, host := range l.Images {
		if !strings.Contains(host, "{id}") && strings.ContainsAny(host, " ;,'\"/") {
			fault("images", "has %s: must be HOST, HOST:PORT or a URL with {id}", host)
		}
	}
	teach, view := divided(l.TokenFiles, viewing)
	if len(teach) > 1 || len(view) > 1 {
		fault("listen-token-file",
			"is %s: must be one FILE, or none, and one view=FILE", strings.Join(l.TokenFiles, ","))
	}
	file, _, open := l.tokenFiles() // a file that cannot be read is a fault of its own
	if l.ViewToken != "" && (file == "" || l.Token == l.ViewToken) {
		fault("listen-token-file", "names a token to read: needs another token beside it, for people who teach")
	}
	if !l.IsLoopback() && file == "" && !open {
		fault("listen",
			"is %s, which others can reach: needs listen-token-file, FILE or none to let everyone in", l.Address)
	}
}

// Check says what check does beyond reading.
type Check struct {
	Create     bool
	Compact    bool
	Partitions int
	Replicas   int
	Strimzi    string // a Kafka cluster of Strimzi's
}

func (k *Check) settings() []definition {
	check := []string{"check"}
	return []definition{
		define("create", &k.Create, check, false, "make the topics that are missing"),
		define("compact", &k.Compact, check, false,
			"set compaction where a topic needs it, such as a labels topic that a producer made"),
		define("partitions", &k.Partitions, check, 4,
			"partitions of a topic that is made, where no other topic decides",
			atLeast(1), atMost(10000)),
		define("replicas", &k.Replicas, check, 0, "replicas of a topic that is made; 0: the brokers' default",
			atLeast(0), atMost(32767)),
		define("strimzi", &k.Strimzi, check, "",
			"print the topics and the user as resources for Strimzi in this Kafka cluster, and test nothing").example("CLUSTER"),
	}
}
