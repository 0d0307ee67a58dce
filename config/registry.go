package config

import (
	"net/url"
	"strings"
)

// Registry is how a schema registry is reached. Without URL there is none. TLS is the brokers': tls-ca,
// tls-cert and tls-key.
type Registry struct {
	URL        string // may name a user
	SecretFile string
}

func (r *Registry) sections() []section {
	return []section{{"Schema registry", []definition{
		define("schema-registry", &r.URL, checked, "",
			"Confluent schema registry that knows the schemas of framed records, Avro among them: https://USER@HOST; none: framed "+
				"JSON and nv.Frame alone").
			example("URL"),
		define("schema-registry-secret-file", &r.SecretFile, checked, "",
			"file that holds the password of the URL's user, or a bearer token where it names none; read again each time").
			example("FILE"),
	}}}
}

func (r *Registry) faults(*Config) []Fault {
	if r.URL == "" {
		if r.SecretFile != "" {
			return []Fault{{Setting: "schema-registry-secret-file", Problem: "is " + r.SecretFile + " but schema-registry is not set"}}
		}
		return nil
	}
	for text := range strings.SplitSeq(r.URL, ",") {
		address, err := url.Parse(strings.TrimSpace(text))
		problem := ""
		switch {
		case err != nil || address.Host == "":
			problem = "is not a URL such as https://user@registry:8081" // not shown: it may hold a password
		case hasPassword(address):
			problem = "holds a password: give it as a file, schema-registry-secret-file"
		case address.User != nil && r.SecretFile == "":
			problem = "names a user: needs schema-registry-secret-file, the file of the password"
		default:
			continue
		}
		return []Fault{{Setting: "schema-registry", Problem: problem}}
	}
	return nil
}

func hasPassword(address *url.URL) bool {
	_, has := address.User.Password()
	return has
}
