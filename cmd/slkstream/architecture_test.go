package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayLookInto holds the order of packages in ARCHITECTURE.md: which of our packages each may import. Packages
// that are not listed here are not part of the order.
var mayLookInto = map[string][]string{
	"config":          {},
	"internal/kernel": {},
	"internal/vector": {"internal/kernel"},
	"index":           {"internal/kernel", "internal/vector"},
	"solver/metric":   {"internal/kernel", "internal/vector"},
	"solver":          {"solver/metric", "index", "internal/kernel", "internal/vector"},
	"solver/stream": {
		"solver", "solver/metric", "index", "internal/kernel", "internal/logistic",
		"internal/ordered", "internal/vector",
	},
	"internal/ordered": {},
	"solver/file": {
		"solver", "solver/metric", "index", "internal/kernel", "internal/logistic",
		"internal/vector",
	},
	"internal/logistic":  {},
	"internal/recent":    {"internal/kernel"},
	"internal/record":    {"internal/kernel"},
	"internal/state":     {"internal/record", "solver/stream"},
	"internal/telemetry": {},
	"internal/registry":  {"internal/record", "internal/topic"},
	"pipeline": {
		"consumer", "producer", "solver", "solver/stream", "internal/record", "internal/state",
		"internal/ordered", "internal/recent", "internal/telemetry", "internal/topic",
	},
	"internal/topic": {"internal/record"},
	"consumer":       {"internal/topic", "internal/record"},
	"producer":       {"internal/topic", "internal/record"},
	"internal/table": {"internal/array", "internal/record"},
	"internal/array": {},
	"internal/evaluate": {
		"internal/array", "internal/recent", "solver/stream", "solver/file", "solver", "solver/metric", "index",
		"internal/kernel", "internal/vector",
	},
}

const module = "github.com/slkstream/slkstream/"

// No package imports an earlier stage.
func TestRoomsLookOneWay(t *testing.T) {
	var rooms []string
	for room := range mayLookInto {
		rooms = append(rooms, module+room)
	}
	slices.Sort(rooms)
	out, err := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}}: {{join .Imports \" \"}}"},
		rooms...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		room, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		room = strings.TrimPrefix(room, module)
		for imported := range strings.FieldsSeq(imports) {
			ours, is := strings.CutPrefix(imported, module)
			if is && !slices.Contains(mayLookInto[room], ours) {
				t.Errorf("%s imports %s", room, ours)
			}
		}
	}
}

// The calls that ARCHITECTURE.md names exist in the packages it names.
func TestCallsOfTheArchitecturePageExist(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{"stream": "solver/stream"}
	calls := regexp.MustCompile("(?m)^\\| `(\\w+)\\.(?:(\\w+)\\.)?(\\w+)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(calls) == 0 || len(calls) > 10 {
		t.Fatalf("%d calls, not one to ten", len(calls))
	}
	for _, call := range calls {
		folder := call[1]
		if other, ok := folders[folder]; ok {
			folder = other
		}
		method := `(?m)^func (\(\w+ \*?` + call[2] + `\) )` + call[3] + `\(`
		if call[2] == "" {
			method = `(?m)^func ` + call[3] + `\(`
		} else if call[2] == "Committer" { // an interface
			method = `(?m)^\t` + call[3] + `\(`
		}
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(method).Match(code)
		}
		if !found {
			t.Errorf("%s is not there", strings.Trim(call[0], "| "))
		}
	}
}
