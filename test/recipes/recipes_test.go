// Package recipes checks the files of examples/ that other programs read.
package recipes

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/slkstream/slkstream/internal/record"
)

var used = regexp.MustCompile(`(?:this\.|json\("|payload_json\.)([a-zA-Z]+)`)

// The database's statement keeps the label of the highest revision, as docs/formats.md says, and gets as many values as it
// takes.
func TestRecipeOfADatabase(t *testing.T) {
	text, err := os.ReadFile("../../examples/redpanda-connect/results-to-postgres.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var pipeline struct {
		Output struct {
			SQL struct {
				Query string
				Args  string `yaml:"args_mapping"`
			} `yaml:"sql_raw"`
		}
	}
	if err := yaml.Unmarshal(text, &pipeline); err != nil {
		t.Fatal(err)
	}
	sql := pipeline.Output.SQL
	_, upsert, _ := strings.Cut(strings.TrimSpace(sql.Query), "\n")
	if upsert == "" || !strings.Contains(string(page), upsert) {
		t.Errorf("docs/formats.md does not have %q", upsert)
	}
	if values, given := strings.Count(sql.Query, "$"), strings.Count(sql.Args, ",")+1; values != given || values == 0 {
		t.Errorf("%d values for %d places", given, values)
	}
}

// Each file is valid YAML, and each field of a result that it uses is in a result of this build.
func TestRecipesFitTheResults(t *testing.T) {
	text := record.AppendResult(nil, &record.Result{
		ID: "in/0/1", ItemID: "a", Stream: "cam", Time: time.Unix(1, 0), Label: "milk",
		Alternatives: []record.Alternative{{Label: "juice"}},
	})
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	form, err := record.ResultTemplate(`{"uuid": "${uuid}", "vector": "${vector}", "payload": {"id": "${id}"}}`)
	if err != nil {
		t.Fatal(err)
	}
	var shaped map[string]any
	point := form.Append(nil, &record.Result{Vector: []byte{0, 0, 128, 63}})
	if err := json.Unmarshal(point, &shaped); err != nil {
		t.Fatal(err)
	}
	maps.Copy(fields, shaped)
	correction := record.Correction{ID: "in/0/1", New: record.Called{Label: "juice"}, Revision: 87}
	if err := json.Unmarshal(correction.Out("corrections", nil).Value, &shaped); err != nil {
		t.Fatal(err)
	}
	maps.Copy(fields, shaped)
	fields["without"] = "a method"
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var parsed map[string]any
		if err := yaml.Unmarshal(text, &parsed); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		found := used.FindAllSubmatch(text, -1)
		if len(found) == 0 && filepath.Base(file) != "mqtt-to-embeddings.yaml" {
			t.Errorf("%s uses no field of a result", file)
		}
		for _, m := range found {
			if _, ok := fields[string(m[1])]; !ok {
				t.Errorf("%s uses the field %q, which no result has", file, m[1])
			}
		}
	}
}
