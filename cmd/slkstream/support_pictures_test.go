package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
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
