package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs/failures.md agrees with the cells of the table.
func TestFailuresPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/failures.md")
	if want := tablePage(); err != nil || string(page) != want {
		t.Errorf("docs/failures.md is not what the table plays (%v): go run ./internal/chaos -table -page docs/failures.md", err)
	}
}

// Each resource and each way to fail has a cell, an existing test, or a reason.
func TestEveryPairIsAnswered(t *testing.T) {
	known := map[pair]bool{}
	for _, r := range resources {
		for _, w := range ways {
			p := pair{r, w}
			known[p], known[pair{r, ""}], known[pair{"", w}] = true, true, true
			if !played(cells(), p) && elsewhere[p] == "" && reason(p) == "" {
				t.Errorf("%s, %s: neither played nor said why not", r, w)
			}
		}
	}
	for _, c := range cells() {
		if p := (pair{c.resource, c.way}); !known[p] {
			t.Errorf("%v is not in the table", p)
		}
	}
	for p := range meaningless {
		if !known[p] {
			t.Errorf("%v is not in the table", p)
		}
	}
	for p, test := range elsewhere {
		folder, name, _ := strings.Cut(test, ".")
		if !known[p] || !hasTest(t, filepath.Join("../..", folder), name) {
			t.Errorf("%v: there is no test %s", p, test)
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}

// reason returns why a pair is not played; "": it is played, or no reason is listed.
func reason(p pair) string {
	for _, like := range []pair{p, {p.resource, ""}, {"", p.way}} {
		if why := meaningless[like]; why != "" {
			return why
		}
	}
	return ""
}

func played(all []cell, p pair) bool {
	return slices.ContainsFunc(all, func(c cell) bool { return c.resource == p.resource && c.way == p.way })
}
