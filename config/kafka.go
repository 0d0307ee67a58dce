package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kafka says how to reach the brokers. Without Brokers, commands use the embedded broker in EmbeddedDir.
type Kafka struct {
	Brokers          []string
	ClientRack       string
	ClientID         string
	TLS              bool
	TLSCA            string
	TLSCert          string
	TLSKey           string
	SASL             string
	SASLUser         string
	SASLPassword     Secret // read from the file
	SASLPasswordFile string // or |COMMAND
	EmbeddedDir      string
	EmbeddedListen   string
}

func (k *Kafka) settings() []definition {
	return []definition{
		define("brokers", &k.Brokers, onKafka, nil, "Kafka brokers, HOST:PORT each; none: the embedded broker").
			example("HOST:PORT,..."),
		define("client-id", &k.ClientID, onKafka, "slkstream", "name by which brokers know this process"),
		define("client-rack", &k.ClientRack, onKafka, "", "where this process runs, as broker.rack names it: partitions are read "+
			"from the replica there, if the brokers have a replica.selector.class; none: from their leaders").example("RACK"),
		define("tls", &k.TLS, onKafka, false, "speak TLS to the brokers"),
		define("tls-ca", &k.TLSCA, onKafka, "",
			"PEM file of the authorities that may sign a broker's certificate; none: the system's").example("FILE"),
		define("tls-cert", &k.TLSCert, onKafka, "", "PEM file of this client's certificate").example("FILE"),
		define("tls-key", &k.TLSKey, onKafka, "", "PEM file of this client's key").example("FILE"),
		define("sasl", &k.SASL, onKafka, "", "how to log in to the brokers; none: not at all",
			oneOf("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")),
		define("sasl-user", &k.SASLUser, onKafka, "", "user to log in as"),
		define("sasl-password-file", &k.SASLPasswordFile, onKafka, "",
			"file that holds the password, or with oauthbearer the token, which is read for each new connection "+
				"(--sasl-token-file FILE is the same); |COMMAND, or --sasl-token-command COMMAND: a shell command that prints "+
				"the token, called again before it expires").example("FILE"),
		define("embedded-dir", &k.EmbeddedDir, with(onKafka, "broker"), ".slkstream",
			"where the embedded broker keeps its data and its address").example("DIR").
			when("demo", "", "where the demo's broker keeps its data and its address; none: a temporary folder, removed at the end"),
		define(
			"embedded-listen",
			&k.EmbeddedListen,
			[]string{"broker", "demo"},
			"127.0.0.1:0",
			"address of the embedded broker where this process starts it; port 0 takes the one it had, or a free one",
		).example("HOST:PORT"),
	}
}

// Token returns the source of the password or token: a file or a command.
func (k *Kafka) Token() (file, command string) {
	if command, is := strings.CutPrefix(k.SASLPasswordFile, "|"); is {
		return "", command
	}
	return k.SASLPasswordFile, ""
}

func (k *Kafka) check(c *Config, fault report) {
	for _, b := range k.Brokers {
		if _, port, err := net.SplitHostPort(b); err != nil || port == "" {
			fault("brokers", "has %s: must be HOST:PORT", b)
		}
	}
	for _, s := range []struct{ name, value string }{{"tls-ca", k.TLSCA}, {"tls-cert", k.TLSCert}, {"tls-key", k.TLSKey}} {
		if s.value != "" && !k.TLS && c.Registry.URL() == "" {
			fault(s.name, "is %s but tls is off: turn --tls on", s.value)
		}
	}
	if (k.TLSCert == "") != (k.TLSKey == "") {
		fault("tls-cert", "and tls-key go together: one of them is not set")
	}
	if k.SASL == "" && k.SASLUser != "" {
		fault("sasl-user", "is %s but sasl is not set: choose how to log in with --sasl", k.SASLUser)
	}
	if k.SASL == "oauthbearer" && k.SASLUser != "" {
		fault("sasl-user", "is %s but sasl is oauthbearer: the token says who logs in", k.SASLUser)
	}
	_, command := k.Token()
	switch given := k.SASLPasswordFile != ""; {
	case k.SASL == "oauthbearer" && !given:
		fault("sasl", "is oauthbearer: needs sasl-password-file, which gives the token")
	case k.SASL != "oauthbearer" && command != "":
		fault("sasl", "is not oauthbearer, but sasl-password-file is a command")
	case k.SASL == "" && given:
		fault("sasl-password-file", "is %s but sasl is not set: choose how to log in with --sasl", k.SASLPasswordFile)
	case k.SASL != "" && k.SASL != "oauthbearer" && (k.SASLUser == "" || !given):
		fault("sasl", "is %s: needs sasl-user and sasl-password-file", k.SASL)
	}
	if k.EmbeddedListen != "" {
		host, port, err := net.SplitHostPort(k.EmbeddedListen)
		_, noPort := strconv.ParseUint(port, 10, 16)
		if ip := net.ParseIP(host); err != nil || noPort != nil || host == "" || ip != nil && ip.IsUnspecified() {
			fault("embedded-listen", "is %s: must be HOST:PORT, with a host that clients can be told to connect to", k.EmbeddedListen)
		}
	}
	if len(k.Brokers) == 0 && (k.TLS || k.SASL != "") {
		fault("brokers", "is not set, but tls or sasl is: the embedded broker speaks neither")
	}
}

// Topics are the topics of a stage, and the group that reads them.
type Topics struct {
	In       []string
	Out      string
	Labels   string
	State    string
	Dead     string
	Episodes string
	// Corrections is the topic for new names of items that already have a result.
	Corrections string
	Review      string
	Now         string // topic of first answers
	Identities  string // topic of clusters
	Group       string

	WithVector bool
	OutFormat  string
}

func (t *Topics) settings() []definition {
	holding := with(checked, "forget") // commands that use all topics that hold names
	return []definition{
		define("in", &t.In, checked, nil,
			"topic of embeddings; repeatable").example("TOPIC").
			when("state import", nil, "the input that the streams are of; none: the one that the file names").
			neededBy(checked...),
		define("out", &t.Out, with(holding, deadLetters...), "", "topic of labelled results").
			example("TOPIC").
			when("feed", "", "topic to send to").neededBy(with(checked, "feed")...),
		define("with-vector", &t.WithVector, checked, false,
			"results carry their vector, base64 of little-endian float32"),
		define("out-format", &t.OutFormat, checked, "json",
			"form of results: json, cloudevents, avro, which needs --schema-registry, or JSON of your own shape, with ${name} "+
				"where a field goes, as a connector wants it").example("FORM|{JSON}"),
		define("labels", &t.Labels,
			with(with(holding, labelTopic...), "labels import", "teach", "audit", "state reset"), "",
			"compacted topic of labelled examples").
			example("TOPIC").neededBy(with(labelTopic, "labels import", "teach", "forget", "correct")...),
		define("review", &t.Review, holding, "",
			"topic of items whose label would teach most; none: only the page has them").
			example("TOPIC"),
		define("dead", &t.Dead, holding, "", "topic of records that cannot be read; none: OUT-dead").
			example("TOPIC").
			when("dead list, dead show, dead replay", "", "topic of dead letters; none: OUT-dead"),
		define("episodes", &t.Episodes, holding, "",
			"topic of one record per episode, and with --identities of where things are seen; none: not written").
			example("TOPIC"),
		define("now", &t.Now, []string{"run", "check", "forget"}, "",
			"topic of first answers: each item of the last 2 s is answered when it is read, its result follows; none: not written").
			example("TOPIC"),
		define("corrections", &t.Corrections, []string{"run", "check", "forget"}, "",
			"topic of corrections: recent items that a later label calls something else; none: not written").
			example("TOPIC").
			when("correct", "", "topic of corrections; a --dry-run without one compares with results alone"),
		define("identities", &t.Identities, []string{"run", "check", "forget"}, "",
			"compacted topic of what clusters are like, by which those of all streams that are one thing become one identity; "+
				"none: each stream's are its own").
			example("TOPIC"),
		define("state", &t.State, with(holding, states...), "",
			"compacted topic of what each stream remembers; none: GROUP-state").
			example("TOPIC"),
		define("group", &t.Group, with(holding, states...), "slkstream",
			"consumer group of the stage; a job's is GROUP.backfill.JOB or GROUP.correct.JOB").
			example("GROUP"),
	}
}

// jobs are the commands that run a job.
var jobs = []string{"backfill", "correct"}

// JobGroup returns the group of a job of a command. No stage has such a group (see checkNames): a job that shared
// the offsets of a stage would take the stage's input for answered, and the stage that of the job.
func (t *Topics) JobGroup(command, job string) string { return t.Group + "." + command + "." + job }

// LinkGroup returns the group of the process that links clusters.
func (t *Topics) LinkGroup() string { return t.Group + "-link" }

// StateTopic returns the state topic: the one given, or the default.
func (t *Topics) StateTopic() string {
	if t.State != "" {
		return t.State
	}
	return t.Group + "-state"
}

// Own is a topic other than an input, by the setting that names it.
type Own struct{ Setting, Name string }

// Own lists the topics beside the inputs that a stage reads and writes; those that are not used are left out.
func (t *Topics) Own() []Own {
	all := []Own{
		{"out", t.Out},
		{"labels", t.Labels},
		{"state", t.StateTopic()},
		{"dead", t.DeadTopic()},
		{"episodes", t.Episodes},
		{"now", t.Now},
		{"corrections", t.Corrections},
		{"identities", t.Identities},
		{"review", t.Review},
	}
	return slices.DeleteFunc(all, func(o Own) bool { return o.Name == "" })
}

// DeadTopic returns the dead-letter topic: the one given, or the default; "" without out.
func (t *Topics) DeadTopic() string {
	if t.Dead == "" && t.Out != "" {
		return t.Out + "-dead"
	}
	return t.Dead
}

var forms = []string{"json", "cloudevents", "avro"}

// IsTemplate says whether the user defines the JSON of results.
func (t *Topics) IsTemplate() bool { return strings.HasPrefix(strings.TrimSpace(t.OutFormat), "{") }

func (t *Topics) check(c *Config, fault report) {
	if slices.Contains(deadLetters, c.command) && t.Dead == "" && t.Out == "" {
		fault("dead", "is not set, nor is out, from which it would be named")
	}
	t.checkNames(c, fault)
	if !slices.Contains(checked, c.command) {
		return
	}
	asked := t.Review != "" || c.Listen.Address != "" && t.Labels != ""
	rate, from := c.Memory.ReviewRate, c.Origin("review-rate").Layer
	if from != "" && from != "file" && !asked && slices.Contains(live, c.command) && rate > 0 &&
		rate != Default(c.command).Memory.ReviewRate {
		fault("review-rate", "means nothing here: nobody is asked without review, or listen and labels")
	}
	if t.OutFormat == "avro" && c.Registry.URL() == "" {
		fault("out-format", "is avro: needs schema-registry")
	}
	if !slices.Contains(forms, t.OutFormat) && !t.IsTemplate() {
		fault("out-format", "is %s: must be one of %s, or a JSON object", shown(t.OutFormat), strings.Join(forms, ", "))
	}
	if c.command == "correct" && t.Corrections == "" && !c.Change.DryRun {
		fault("corrections", "is not set: correct needs it, unless dry-run is set")
	}
	if t.Corrections != "" && t.Labels == "" {
		fault("corrections", "is %s: needs labels, which corrections follow from", t.Corrections)
	}
	if t.Corrections != "" && c.command == "run" && c.Memory.Recent == 0 {
		fault("corrections", "is %s: needs recent, the items that can be corrected, above 0", t.Corrections)
	}
	if t.Identities != "" && t.Labels == "" {
		fault("identities", "is %s: needs labels, where identities are told", t.Identities)
	}
	if c.Memory.Transit != "" && t.Identities == "" {
		fault("transit", "is %s: needs identities, which it is evidence for", c.Memory.Transit)
	}
	owner := map[string]string{}
	for _, in := range t.In {
		owner[in] = "in"
	}
	for _, own := range t.Own() {
		if other := owner[own.Name]; other != "" {
			fault(own.Setting, "is %s, which is %s as well: each needs a topic of its own", own.Name, other)
		}
		owner[own.Name] = own.Setting
	}
}

// checkNames refuses names that no topic can have: the embedded broker would take them, Kafka's brokers do
// not.
func (t *Topics) checkNames(c *Config, fault report) {
	const rule = "a topic's name has 1 to 249 of the letters a to z and A to Z, digits, dots, _ and -"
	const taken = "the brokers keep their own records there"
	for _, in := range t.In {
		switch {
		case !isTopicName(in):
			fault("in", "has %q: %s", in, rule)
		case ofBrokers(in):
			fault("in", "has %s: %s", in, taken)
		}
	}
	job := c.Backfill.Job
	if t.State == "" && job != "" && !isTopicName(job+"-state") {
		fault("job", "is %q, which names a state topic: %s", job, rule)
	}
	if t.Group == "" && c.takes("group") {
		fault("group", "is empty: without the setting it is %s", Default(c.command).Topics.Group)
	}
	if id := c.Delivery.Instance; id != "" && !isTopicName(id) {
		fault("group-instance-id", "is %q: it has %s", id, strings.TrimPrefix(rule, "a topic's name has "))
	}
	for _, command := range jobs {
		if of := "." + command + "."; slices.Contains(checked, c.command) && strings.Contains(t.Group, of) {
			fault("group", "is %s: groups with %s are those of jobs", t.Group, of)
		}
	}
	for _, own := range t.Own() {
		switch {
		case ofBrokers(own.Name):
			fault(own.Setting, "is %s: %s", own.Name, taken)
		case isTopicName(own.Name) || own.Setting == "dead" && t.Dead == "":
		case own.Setting == "state" && t.State == "":
			fault("group", "is %q, which names the state topic GROUP-state: %s", t.Group, rule)
		default:
			fault(own.Setting, "is %q: %s", own.Name, rule)
		}
	}
}

// ofBrokers says whether a topic is one that the brokers keep groups, transactions and metadata in. The embedded
// broker would take records for it.
func ofBrokers(name string) bool {
	return slices.Contains([]string{
		"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata",
	}, name)
}

// isTopicName is Kafka's rule for names of topics.
func isTopicName(name string) bool {
	const longest = 249
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return name != "" && name != "." && name != ".." && len(name) <= longest && strings.Trim(name, letters) == ""
}

// Delivery holds the delivery guarantee, and how often progress is committed.
type Delivery struct {
	Mode           string // at-least-once, exactly-once
	Isolation      string // read-committed, read-uncommitted
	OutCompression string // none, lz4, zstd
	CommitInterval time.Duration
	StateInterval  time.Duration
	DrainTimeout   time.Duration
	DrainOpen      bool
	SessionTimeout time.Duration
	Instance       string
}

func (d *Delivery) settings() []definition {
	return []definition{
		define("delivery", &d.Mode, checked, "at-least-once", "promise about repeats of a result",
			oneOf("at-least-once", "exactly-once")),
		define("isolation", &d.Isolation, with(decoded, "tail"), "read-committed",
			"which records of transactions are read",
			oneOf("read-committed", "read-uncommitted")),
		define("out-compression", &d.OutCompression, stage, "none",
			"how batches of results, episodes and dead letters are compressed",
			oneOf("none", "lz4", "zstd")),
		define("commit-interval", &d.CommitInterval, stage, 100*time.Millisecond,
			"longest time between a result and its commit", atLeast(time.Millisecond)),
		define("state-interval", &d.StateInterval, stage, 10*time.Second,
			"least time between two writes of a stream's state",
			atLeast(100*time.Millisecond)),
		define("drain-timeout", &d.DrainTimeout, stage, 10*time.Second,
			"longest time a stop may take to finish what is being solved", above[time.Duration](0)),
		define("session-timeout", &d.SessionTimeout, stage, 6*time.Second,
			"silence after which the group gives a process's partitions to others", atLeast(time.Second)),
		define("group-instance-id", &d.Instance, []string{"run"}, "",
			"Kafka's group.instance.id, of this process alone: the group keeps its partitions for it while it is restarted within "+
				"--session-timeout; none: a process that stops gives them to others at once").example("ID"),
		define("drain-open", &d.DrainOpen, stage, false,
			"answer open episodes at a stop instead of leaving them to the next owner"),
	}
}

// Registry says how to reach a schema registry; without URL there is none. TLS uses the brokers' settings:
// tls-ca, tls-cert and tls-key.
type Registry struct {
	At []string // URLs, optionally with a user, and secret=FILE
}

const secretOf = "secret=" // prefix of the file with the registry's secret

// URL returns the addresses; "" if there are none.
func (r *Registry) URL() string {
	urls, _ := divided(r.At, secretOf)
	return strings.Join(urls, ",")
}

// SecretFile returns the file with the password of the URL's user, or with a token.
func (r *Registry) SecretFile() string {
	_, files := divided(r.At, secretOf)
	return last(files)
}

func (r *Registry) settings() []definition {
	return []definition{
		define("schema-registry", &r.At, decoded, nil,
			"Confluent schema registry that knows the schemas of framed records, Avro among them: https://USER@HOST; none: framed "+
				"JSON and nv.Frame alone. secret=FILE beside it, or --schema-registry-secret-file FILE, holds the password of the "+
				"URL's user, or a bearer token where it names none; read again each time").
			example("URL,..."),
	}
}

func (r *Registry) check(_ *Config, fault report) {
	urls, files := divided(r.At, secretOf)
	if len(urls) == 0 && len(files) > 0 {
		fault("schema-registry", "is the file of a secret alone: give the URL too")
	}
	for _, text := range urls {
		address, err := url.Parse(text)
		switch {
		case err != nil || address.Host == "":
			fault("schema-registry",
				"is not a URL such as https://user@registry:8081") // not shown: may hold a password
		case hasPassword(address):
			fault("schema-registry", "holds a password: give it as a file, schema-registry-secret-file")
		case address.User != nil && len(files) == 0:
			fault("schema-registry", "names a user: needs schema-registry-secret-file, the file of the password")
		}
	}
}

func hasPassword(address *url.URL) bool {
	_, has := address.User.Password()
	return has
}
