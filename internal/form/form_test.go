package form

import (
	"os"
	"strings"
	"testing"
)

// docs/formats.md has a row for each form, with its name, its media types and what it is.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All {
		types := ""
		if len(f.Types) > 0 {
			types = "`" + strings.Join(f.Types, "`, `") + "`"
		}
		row := "| `" + f.Name + "` | " + types + " | " + f.What + " |"
		if !strings.Contains(string(page), strings.Replace(row, "|  |", "| |", 1)) {
			t.Errorf("docs/formats.md has no row\n%s", row)
		}
	}
}
