package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayLookInto is the line of ARCHITECTURE.md: what each room of it may import of ours. Rooms that are not here are not on
// the line.
var mayLookInto = map[string][]string{
	"config":          {},
	"internal/kernel": {},
	"internal/vector": {"internal/kernel"},
	"index":           {"internal/kernel", "internal/vector"},
	"solver/metric":   {"internal/kernel", "internal/vector"},
	"solver":          {"solver/metric", "index", "internal/kernel", "internal/vector"},
	"solver/stream":   {"solver", "solver/metric", "index", "internal/kernel", "internal/vector"},
	"solver/file":     {"solver", "solver/metric", "index", "internal/kernel", "internal/vector"},
	"internal/record": {},
	"internal/topic":  {"internal/record"},
	"consumer":        {"internal/topic", "internal/record"},
	"producer":        {"internal/topic", "internal/record"},
	"internal/table":  {"internal/array", "internal/record"},
	"internal/array":  {},
	"internal/evaluate": {
		"internal/array", "solver/stream", "solver/file", "solver", "solver/metric", "index", "internal/kernel", "internal/vector",
	},
}

const module = "github.com/slkstream/slkstream/"

// No room looks back up the line.
func TestRoomsLookOneWay(t *testing.T) {
	var rooms []string
	for room := range mayLookInto {
		rooms = append(rooms, module+room)
	}
	slices.Sort(rooms)
	out, err := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}}: {{join .Imports \" \"}}"}, rooms...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		room, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		room = strings.TrimPrefix(room, module)
		for imported := range strings.FieldsSeq(imports) {
			ours, is := strings.CutPrefix(imported, module)
			if is && !slices.Contains(mayLookInto[room], ours) {
				t.Errorf("%s looks into %s", room, ours)
			}
		}
	}
}
