package record

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every field of a result says what it is, and docs/formats.md speaks of each.
func TestResultFieldsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ResultFields {
		if f.Doc == "" {
			t.Errorf("%s has no doc", f.Name)
		}
		if !strings.Contains(string(page), "`"+f.Name+"`") && !strings.Contains(string(page), `"`+f.Name+`":`) {
			t.Errorf("docs/formats.md does not have %s", f.Name)
		}
	}
}

// An answer over HTTP has fields of a result, of the same kind.
func TestAnswersOfTheAPIAreResults(t *testing.T) {
	b, err := os.ReadFile("../web/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Type       string
		Items      *schema
		Properties map[string]*schema
	}
	var api struct {
		Paths map[string]struct {
			Post struct {
				Responses map[string]struct {
					Content map[string]struct{ Schema schema }
				}
			}
		}
	}
	if err := json.Unmarshal(b, &api); err != nil {
		t.Fatal(err)
	}
	answer := api.Paths["/api/answer"].Post.Responses["200"].Content["application/json"].Schema.Properties["answers"].Items
	kinds := map[Kind]string{Text: "string", Number: "number", Truth: "boolean", List: "array"}
	fields := map[string]Kind{}
	for _, f := range ResultFields {
		fields[f.Name] = f.Kind
	}
	if len(answer.Properties) == 0 {
		t.Fatal("openapi.json describes no answers")
	}
	for name, s := range answer.Properties {
		if kind, is := fields[name]; !is || kinds[kind] != s.Type {
			t.Errorf("%s is a %s in openapi.json, and not in a result", name, s.Type)
		}
	}
}
