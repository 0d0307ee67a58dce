package config

import (
	"net/url"
	"strings"
)

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
		define("schema-registry", &r.At, checked, nil,
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
