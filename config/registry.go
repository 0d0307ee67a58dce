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
func (r *Registry) URL() string { url, _ := r.parts(); return url }

// SecretFile returns the file with the password of the URL's user, or with a token.
func (r *Registry) SecretFile() string { _, file := r.parts(); return file }

func (r *Registry) parts() (url, secret string) {
	var urls []string
	for _, part := range r.At {
		if file, is := strings.CutPrefix(part, secretOf); is {
			secret = file
		} else {
			urls = append(urls, part)
		}
	}
	return strings.Join(urls, ","), secret
}

func (r *Registry) sections() []section {
	return []section{{"Schema registry", []definition{
		define("schema-registry", &r.At, checked, nil,
			"Confluent schema registry that knows the schemas of framed records, Avro among them: https://USER@HOST; none: framed "+
				"JSON and nv.Frame alone. secret=FILE beside it, or --schema-registry-secret-file FILE, holds the password of the "+
				"URL's user, or a bearer token where it names none; read again each time").
			example("URL,..."),
	}}}
}

func (r *Registry) faults(*Config) []Fault {
	if r.URL() == "" {
		if r.SecretFile() != "" {
			return []Fault{{Setting: "schema-registry", Problem: "is the file of a secret alone: give the URL too"}}
		}
		return nil
	}
	for text := range strings.SplitSeq(r.URL(), ",") {
		address, err := url.Parse(text)
		problem := ""
		switch {
		case err != nil || address.Host == "":
			problem = "is not a URL such as https://user@registry:8081" // not shown: may hold a password
		case hasPassword(address):
			problem = "holds a password: give it as a file, schema-registry-secret-file"
		case address.User != nil && r.SecretFile() == "":
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
