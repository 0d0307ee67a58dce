package table

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// blocksOf returns the fenced examples of a kind in docs/formats.md.
func blocksOf(t *testing.T, kind string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, block := range strings.Split(string(page), "```") {
		if text, is := strings.CutPrefix(block, "json "+kind+"\n"); is && i%2 == 1 {
			found = append(found, text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("docs/formats.md has no example of a %s", kind)
	}
	return found
}

func TestExamplesOfTheDocs(t *testing.T) {
	for _, text := range blocksOf(t, "line") {
		rows, err := readAll(save(t, "x.jsonl", []byte(text)))
		if err != nil || len(rows) != 1 || rows[0].ID == "" || rows[0].Label == "" {
			t.Errorf("%s: %v, %v", text, rows, err)
		}
	}
	for _, text := range blocksOf(t, "answer") {
		strict := json.NewDecoder(strings.NewReader(text))
		strict.DisallowUnknownFields()
		var a Answer
		if err := strict.Decode(&a); err != nil || a.Label == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
