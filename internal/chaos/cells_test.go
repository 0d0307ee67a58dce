package main

import (
	"os"
	"testing"
)

// docs/failures.md says what the table plays.
func TestFailuresPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/failures.md")
	if want := tablePage(cells()); err != nil || string(page) != want {
		t.Errorf("docs/failures.md is not what the table plays (%v): go run ./internal/chaos -table -page docs/failures.md", err)
	}
}
