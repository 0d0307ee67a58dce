package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// An assistant may call all of the API that only asks, and teach; nothing that takes, forgets or renames. Its tools have
// schemas without references, and no argument that would make asking write.
func TestToolsOfAnAssistant(t *testing.T) {
	all, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range all {
		tool := &all[i]
		names = append(names, tool.name)
		input, err := json.Marshal(tool.input)
		if err != nil || !strings.Contains(string(input), `"type":"object"`) || strings.Contains(string(input), "$ref") ||
			strings.Contains(string(input), "learn") || tool.description == "" || tool.reads != (tool.name != "teach") {
			t.Errorf("%s %q: %s %v", tool.name, tool.description, input, err)
		}
	}
	if got := strings.Join(names, " "); got != "answer examples names preview similar state streams teach unknown why" {
		t.Error(got)
	}
}

func TestToolsMakeRequests(t *testing.T) {
	all, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"answer": `/api/answer?stream=a+%26+b {"label":"x"}`, "why": `/api/why null`, "names": `/api/names null`,
		"teach": `/api/teach {"label":"x","stream":"a \u0026 b"}`,
	} {
		for i := range all {
			if all[i].name != name {
				continue
			}
			path, body, err := all[i].request(json.RawMessage(`{"stream":"a & b","label":"x"}`))
			if text, _ := json.Marshal(body); err != nil || path+" "+string(text) != want {
				t.Errorf("%s: %s %s %v", name, path, text, err)
			}
		}
	}
	if _, _, err := all[0].request(json.RawMessage(`[1]`)); err == nil || !strings.Contains(err.Error(), "arguments of answer") {
		t.Error(err)
	}
}
