package kubernetes

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
)

var update = flag.Bool("update", false, "write the chart's schema of the settings anew")

// kinds are the JSON types of a setting's value, by its kind; of others text.
var kinds = map[string]string{
	"on/off": `{"type":"boolean"}`, "whole number": `{"type":"integer"}`, "number": `{"type":"number"}`,
	"list": `{"type":["string","array","object"]}`,
}

// The chart's schema knows each setting of run, so that helm refuses a typo and a value of another kind.
func TestSchemaOfSettings(t *testing.T) {
	const path = "../../deploy/helm/slkstream/values.schema.json"
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	out.WriteString(
		`    "settings": {"type": "object", "additionalProperties": false, "required": ["brokers", "in", "out"], "properties": {`,
	)
	known := map[string]bool{}
	add := func(name, schema string) {
		if len(known) > 0 {
			out.WriteString(",")
		}
		known[name] = true
		fmt.Fprintf(&out, "\n      %q: %s", name, schema)
	}
	for _, s := range config.Default("run").Settings() {
		schema := kinds[s.Kind()]
		if choices := s.Choices(); choices != nil && schema == "" {
			b, _ := json.Marshal(append([]string{""}, choices...))
			schema = `{"enum":` + string(b) + `}`
		}
		switch {
		case slices.Contains([]string{"brokers", "in", "out"}, s.Name):
			schema = `{"type":["string","array"],"minLength":1}`
		case schema == "":
			schema = `{"type":["string","integer","number"]}`
		}
		add(s.Name, schema)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Flags(flags, "run")
	flags.VisitAll(func(f *pflag.Flag) { // other names for a part of a setting
		if !known[f.Name] && f.Name != "help" && f.Name != "help-all" {
			add(f.Name, `{"type":["string","array"]}`)
		}
	})
	out.WriteString("\n    }},\n")
	block := regexp.MustCompile(`(?s)    "settings": \{.*?\n(    "image")`)
	after := block.ReplaceAll(before, append(out.Bytes(), "$1"...))
	if *update {
		if err := os.WriteFile(path, after, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(before, after) {
		t.Error("the schema is not that of the settings: go test -C test/kubernetes -run TestSchemaOfSettings -update .")
	}
}
