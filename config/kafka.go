package config

import "net"

// Kafka is how brokers are reached. Without Brokers it is the embedded broker in EmbeddedDir.
type Kafka struct {
	Brokers          []string
	ClientID         string
	TLS              bool
	TLSCA            string
	TLSCert          string
	TLSKey           string
	SASL             string
	SASLUser         string
	SASLPassword     Secret
	SASLPasswordFile string
	EmbeddedDir      string
	EmbeddedListen   string
}

func (k *Kafka) title() string { return "Brokers" }

func (k *Kafka) settings() []Setting {
	return append(takenBy(onKafka,
		define("brokers", &k.Brokers, nil, "Kafka brokers, HOST:PORT each; none: the embedded broker").example("HOST:PORT,..."),
		define("client-id", &k.ClientID, "slkstream", "name by which brokers know this process"),
		define("tls", &k.TLS, false, "speak TLS to the brokers"),
		define("tls-ca", &k.TLSCA, "", "PEM file of the authorities that may sign a broker's certificate; none: the system's").example("FILE"),
		define("tls-cert", &k.TLSCert, "", "PEM file of this client's certificate").example("FILE"),
		define("tls-key", &k.TLSKey, "", "PEM file of this client's key").example("FILE"),
		define("sasl", &k.SASL, "", "how to log in to the brokers; none: not at all", oneOf("plain", "scram-sha-256", "scram-sha-512")),
		define("sasl-user", &k.SASLUser, "", "user to log in as"),
		define("sasl-password", &k.SASLPassword, "", "password to log in with; better as a variable or a file than as a flag").secret(),
		define("sasl-password-file", &k.SASLPasswordFile, "", "file that holds the password").example("FILE"),
	), append(append(takenBy(with(onKafka, "broker"),
		define("embedded-dir", &k.EmbeddedDir, ".slkstream", "where the embedded broker keeps its data and its address").example("DIR"),
	), takenBy([]string{"demo"},
		define("embedded-dir", &k.EmbeddedDir, "", "where the demo's broker keeps its data and its address; none: a temporary folder, removed at the end").example("DIR"),
	)...), takenBy([]string{"broker"},
		define("embedded-listen", &k.EmbeddedListen, "127.0.0.1:0", "address of the embedded broker; port 0 takes a free one").example("HOST:PORT"),
	)...)...)
}

func (k *Kafka) faults(*Config) []Fault {
	var found []Fault
	add := func(setting, problem string) { found = append(found, Fault{Setting: setting, Problem: problem}) }
	for _, b := range k.Brokers {
		if _, port, err := net.SplitHostPort(b); err != nil || port == "" {
			add("brokers", "has "+b+": must be HOST:PORT")
		}
	}
	for _, s := range []struct{ name, value string }{{"tls-ca", k.TLSCA}, {"tls-cert", k.TLSCert}, {"tls-key", k.TLSKey}} {
		if s.value != "" && !k.TLS {
			add(s.name, "is "+s.value+" but tls is off: turn --tls on")
		}
	}
	if (k.TLSCert == "") != (k.TLSKey == "") {
		add("tls-cert", "and tls-key go together: one of them is not set")
	}
	if k.SASL == "" && k.SASLUser != "" {
		add("sasl-user", "is "+k.SASLUser+" but sasl is not set: choose how to log in with --sasl")
	}
	if k.SASL != "" && (k.SASLUser == "" || k.SASLPassword == "") {
		add("sasl", "is "+k.SASL+": needs sasl-user, and sasl-password or sasl-password-file")
	}
	if len(k.Brokers) == 0 && (k.TLS || k.SASL != "") {
		add("brokers", "is not set, but tls or sasl is: the embedded broker speaks neither")
	}
	return found
}
