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

const module = "github.com/slkstream/slkstream/"

// ARCHITECTURE.md has a row for each package, with the packages of ours that it imports: a new import is a
// decision that changes that page.
func TestImportsAreThoseOfTheArchitecturePage(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z/]+)`")
	imports := map[string][]string{}
	rows := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|.*\\|(.*)\\|$")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		imports[row[1]] = []string{}
		for _, imported := range name.FindAllStringSubmatch(row[2], -1) {
			imports[row[1]] = append(imports[row[1]], imported[1])
		}
		slices.Sort(imports[row[1]])
	}
	out, err := exec.Command("go", "list", "-f",
		`{{if ne .Name "main"}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		ours := []string{}
		for path := range strings.FieldsSeq(line) {
			if path, is := strings.CutPrefix(path, module); is {
				ours = append(ours, path)
			}
		}
		if len(ours) == 0 || strings.HasPrefix(ours[0], "test/") {
			continue
		}
		if named, is := imports[ours[0]]; !is || !slices.Equal(named, ours[1:]) {
			t.Errorf("%s imports %v, ARCHITECTURE.md says %v", ours[0], ours[1:], named)
		}
	}
}

// The calls that ARCHITECTURE.md names exist in the packages it names.
func TestCallsOfTheArchitecturePageExist(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{
		"stream": "solver/stream", "record": "internal/record", "state": "internal/state", "answering": "pipeline/answering",
		"intake": "pipeline/intake", "ledger": "pipeline/ledger",
	}
	calls := regexp.MustCompile("(?m)^\\| `(\\w+)\\.(?:(\\w+)\\.)?(\\w+)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(calls) == 0 || len(calls) > 60 {
		t.Fatalf("%d calls, not one to sixty", len(calls))
	}
	if to := regexp.MustCompile(`(?m)^\|.*\*\*to .*\|$`).FindAll(page, -1); len(to) == 0 || len(to) > 4 {
		t.Errorf("%d hand-overs, not one to four", len(to))
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
