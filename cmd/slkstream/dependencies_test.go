package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var dependencyRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| (\\d+) \\|$")

// modulesOf returns the number of packages of each module in a build.
func modulesOf(t *testing.T, flags ...string) map[string]int {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, flags...)
	list := exec.Command("go", append(args, ".")...)
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]int{}
	for module := range strings.FieldsSeq(string(out)) {
		if module != "github.com/slkstream/slkstream" {
			built[module]++
		}
	}
	return built
}

// The first command of the docs compiles no library of Parquet or Arrow.
func TestLeanBuildIsLean(t *testing.T) {
	built := modulesOf(t, "-tags", "lean")
	for module, n := range built {
		for _, part := range []string{"arrow", "parquet", "goccy"} {
			if strings.Contains(module, part) {
				t.Errorf("%s: %d packages", module, n)
			}
		}
	}
	if len(built) == 0 {
		t.Error("no module at all")
	}
}

// docs/dependencies.md names every module in the build, and its number of packages.
func TestDependenciesAreThoseOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range dependencyRow.FindAllStringSubmatch(string(page), -1) {
		told[row[1]] = row[2]
	}
	built := modulesOf(t)
	for module, packages := range built {
		if told[module] != fmt.Sprint(packages) {
			t.Errorf("%s has %d packages in the binary, docs/dependencies.md says %q", module, packages, told[module])
		}
	}
	for module := range told {
		if built[module] == 0 {
			t.Errorf("docs/dependencies.md names %s, which is not built in", module)
		}
	}
}
