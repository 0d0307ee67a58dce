package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the figures of RESULTS.md into the documents that quote them")

// The documents quote exactly the figures of RESULTS.md: go test ./bench -update copies them.
func TestQuotedFiguresAreThoseOfTheResults(t *testing.T) {
	results, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(documents, "../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := quote(string(text), figuresOf(string(results)))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if want == string(text) {
			continue
		}
		if !*update {
			t.Errorf("%s quotes figures that RESULTS.md does not: go test ./bench -update", path)
		} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func TestQuote(t *testing.T) {
	var b bench
	b.peers = &peers{have: "none"}
	b.begin(section{title: "A title"})
	b.Text("| not.a.figure | 7 |")
	b.Figure("speed.tasks", "%d/s", 1200)
	figures := figuresOf(b.end() + "\n## Next\n")
	if len(figures) != 1 || figures["speed.tasks"] != "1200/s" {
		t.Fatalf("figures %v", figures)
	}
	got, err := quote("It does <!-- figure speed.tasks -->9<!-- /figure --> here.", figures)
	if err != nil || got != "It does <!-- figure speed.tasks -->1200/s<!-- /figure --> here." {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := quote("<!-- figure nowhere -->9<!-- /figure -->", figures); err == nil ||
		!strings.Contains(err.Error(), "nowhere") {
		t.Errorf("an unknown figure: %v", err)
	}
}

func TestSectionsNotRunKeepTheirText(t *testing.T) {
	old := sections
	defer func() { sections = old }()
	sections = []section{{name: "a", title: "First"}, {name: "b", title: "Second"}}
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := writeResults(path, map[string]string{
		"a": "## First\n\none\n\n",
		"b": "## Second\n\ntwo\n\n",
	}); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	results["b"] = "## Second\n\nthree\n\n"
	if err := writeResults(path, results); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != resultsHead+"## First\n\none\n\n## Second\n\nthree\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAlternateIsTheMedianOfRounds(t *testing.T) {
	b := &bench{}
	next := map[string]float64{}
	count := func(name string, scale float64) func() (float64, error) {
		return func() (float64, error) { next[name]++; return scale * next[name] * next[name], nil }
	}
	got, err := b.Alternate(count("ours", 1), count("theirs", 2))
	if err != nil || got[0] != 9 || got[1] != 18 { // of 1, 4, 9, 16, 25
		t.Errorf("%v, %v", got, err)
	}
}

var (
	figureHead = regexp.MustCompile(`(?m)^\| figure \| .*\n`)
	figureRow  = regexp.MustCompile(`(?m)^\| ([a-z0-9.-]+) \| ([^|]*) \|`)
	quoted     = regexp.MustCompile(`(?s)<!-- figure ([a-z0-9.-]+) -->(.*?)<!-- /figure -->`)
)

// figuresOf reads the tables of a results file whose first column is called figure: the second one has the values.
func figuresOf(results string) map[string]string {
	figures := map[string]string{}
	for _, part := range figureHead.Split(results, -1)[1:] {
		table, _, _ := strings.Cut(part, "\n\n")
		for _, row := range figureRow.FindAllStringSubmatch(table, -1) {
			figures[row[1]] = row[2]
		}
	}
	return figures
}

// quote replaces every figure that a document quotes with that of the results, and reports unknown ones.
func quote(document string, figures map[string]string) (string, error) {
	var unknown []string
	out := quoted.ReplaceAllStringFunc(document, func(mark string) string {
		name := quoted.FindStringSubmatch(mark)[1]
		value, ok := figures[name]
		if !ok {
			unknown = append(unknown, name)
			return mark
		}
		return "<!-- figure " + name + " -->" + value + "<!-- /figure -->"
	})
	if unknown != nil {
		return out, fmt.Errorf("no figure %s in the results", strings.Join(unknown, ", "))
	}
	return out, nil
}
