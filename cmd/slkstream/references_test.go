package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// namesIn returns the distinct first groups of a pattern in a text, in order.
func namesIn(pattern, text string) []string {
	var names []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sameNames reports every name that only one of two lists has.
func sameNames(t *testing.T, page string, documented []string, source string, defined []string) {
	t.Helper()
	if len(defined) == 0 {
		t.Fatalf("%s defines nothing: has it moved?", source)
	}
	for _, name := range defined {
		if !slices.Contains(documented, name) {
			t.Errorf("%s has %s, which %s does not document", source, name, page)
		}
	}
	for _, name := range documented {
		if !slices.Contains(defined, name) {
			t.Errorf("%s documents %s, which %s does not have", page, name, source)
		}
	}
}

// docs/metrics.md documents every metric and every alert, and alerts use metrics that exist.
func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	page, source := readPage(t, "../../docs/metrics.md"), ""
	for _, pattern := range []string{"../../pipeline/*.go", "../../internal/telemetry/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if match, _ := filepath.Match("*_test.go", filepath.Base(file)); !match {
				source += readPage(t, file)
			}
		}
	}
	defined := namesIn(`"(slkstream_[a-z_]+)"`, source)
	sameNames(t, "docs/metrics.md", namesIn("`(slkstream_[a-z_]+)", page), "the source", defined)
	alerts := readPage(t, "../../deploy/alerts.yml")
	sameNames(t, "docs/metrics.md", namesIn("`(Slkstream[A-Za-z]+)`", page), "deploy/alerts.yml", namesIn(`alert: (\w+)`, alerts))
	for _, name := range namesIn(`(slkstream_[a-z_]+)`, alerts) {
		if base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, ""); !slices.Contains(defined, base) &&
			!slices.Contains(defined, name) {
			t.Errorf("deploy/alerts.yml asks for %s, which no stage has", name)
		}
	}
}

// docs/http-api.md documents every path of the API's description.
func TestPathsAreThoseOfTheDocs(t *testing.T) {
	var api struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(readPage(t, "../../internal/web/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	var defined []string
	for path := range api.Paths {
		defined = append(defined, path)
	}
	documented := namesIn("`(?:GET|POST) (/api/[a-z./]+)", readPage(t, "../../docs/http-api.md"))
	sameNames(t, "docs/http-api.md", documented, "internal/web/openapi.json", defined)
}

// The image is built from a base that a digest pins, and is not root.
func TestImageIsPinned(t *testing.T) {
	file := readPage(t, "../../Dockerfile")
	pinned := regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	for _, from := range namesIn(`(?m)^FROM (?:--platform=\S+ )?(\S+)`, file) {
		if from != "scratch" && !pinned.MatchString(from) {
			t.Errorf("%s has no digest", from)
		}
	}
	if users := namesIn(`(?m)^USER (\d+)`, file); len(users) != 1 || users[0] == "0" {
		t.Errorf("the image runs as %v", users)
	}
}

// docs/commands.md documents every command.
func TestCommandsAreThoseOfTheDocs(t *testing.T) {
	var defined []string
	for _, command := range newRootCommand(nil).Commands() {
		if !command.Hidden && command.Name() != "help" {
			defined = append(defined, command.Name())
		}
	}
	documented := namesIn("(?m)^\\| `slkstream ([a-z]+)", readPage(t, "../../docs/commands.md"))
	sameNames(t, "docs/commands.md", documented, "the program", defined)
}
