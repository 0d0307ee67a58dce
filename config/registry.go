package config

// Registry is how a schema registry is reached. Without URL there is none.
type Registry struct {
	URL          string
	User         string
	PasswordFile string
	TokenFile    string
	CA           string
	Cert, Key    string
}

func (r *Registry) sections() []section {
	return []section{{"Schema registry", []definition{
		define("schema-registry", &r.URL, checked, "",
			"Confluent schema registry that knows the schemas of framed records, Avro among them; none: framed JSON and nv.Frame alone").
			example("URL"),
		define("schema-registry-user", &r.User, checked, "", "user to log in to the schema registry as"),
		define("schema-registry-password-file", &r.PasswordFile, checked, "",
			"file that holds that user's password; read again each time").
			example("FILE"),
		define("schema-registry-token-file", &r.TokenFile, checked, "",
			"file that holds a bearer token for the schema registry; read again each time").
			example("FILE"),
		define("schema-registry-ca", &r.CA, checked, "",
			"PEM file of the authorities that may sign the schema registry's certificate; none: the system's").example("FILE"),
		define("schema-registry-cert", &r.Cert, checked, "",
			"PEM file of this client's certificate for the schema registry").example("FILE"),
		define("schema-registry-key", &r.Key, checked, "",
			"PEM file of this client's key for the schema registry").example("FILE"),
	}}}
}

func (r *Registry) faults(*Config) []Fault {
	var found []Fault
	add := func(setting, problem string) { found = append(found, Fault{Setting: setting, Problem: problem}) }
	for _, s := range []struct{ name, value string }{
		{"schema-registry-user", r.User},
		{"schema-registry-token-file", r.TokenFile},
		{"schema-registry-ca", r.CA},
		{"schema-registry-cert", r.Cert},
	} {
		if s.value != "" && r.URL == "" {
			add(s.name, "is "+s.value+" but schema-registry is not set")
		}
	}
	if (r.User == "") != (r.PasswordFile == "") {
		add("schema-registry-user", "and schema-registry-password-file go together: one of them is not set")
	}
	if r.User != "" && r.TokenFile != "" {
		add("schema-registry-token-file", "and schema-registry-user are two ways to log in: choose one")
	}
	if (r.Cert == "") != (r.Key == "") {
		add("schema-registry-cert", "and schema-registry-key go together: one of them is not set")
	}
	return found
}
