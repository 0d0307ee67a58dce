package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// What else a row of --support says comes with its example: the page shows the picture that it names.
func TestSupportKeepsPictures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "support.jsonl")
	row := `{"id":"a","label":"coat","vector":[1,0],"attributes":{"image":"https://camera/a.jpg"}}` + "\n"
	if err := os.WriteFile(path, []byte(row+strings.Replace(row, "a.jpg", "b.jpg", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default("run")
	c.Stage.Support = []string{path}
	examples, err := readSupport(c)
	if err != nil || len(examples) != 2 {
		t.Fatal(len(examples), err)
	}
	for i, want := range []string{"a.jpg", "b.jpg"} {
		if !strings.Contains(string(examples[i].Attributes), "https://camera/"+want) {
			t.Errorf("example %d has %q", i, examples[i].Attributes)
		}
	}
}

// Pictures that are in the rows themselves take no more memory than those of the labels topic: long ones, and those beyond
// a bound, are not kept.
func TestSupportBoundsPictures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "support.jsonl")
	row := func(bytes int) string {
		return `{"label":"coat","vector":[1,0],"attributes":{"image":"data:` + strings.Repeat(
			"A",
			bytes-len(`{"image":"data:"}`),
		) + `"}}` + "\n"
	}
	const rest = 4
	full := labels.MostAttributes / labels.LongestAttributes
	content := row(labels.LongestAttributes+1) + strings.Repeat(row(labels.LongestAttributes), full+rest)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default("run")
	c.Stage.Support = []string{path}
	examples, err := readSupport(c)
	if err != nil || len(examples) != 1+full+rest {
		t.Fatal(len(examples), err)
	}
	for i := range examples {
		if kept := len(examples[i].Attributes) > 0; kept != (i > 0 && i <= full) {
			t.Fatalf("of %d examples with a picture the %dth has %d bytes of it", len(examples), i, len(examples[i].Attributes))
		}
	}
}
