package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each command of the recipes for sounds, texts and faces runs on the input beside it, and labels it right.
func TestRecipesOfSoundsTextsAndFaces(t *testing.T) {
	const folder = "../../examples/sounds-texts-faces"
	page, err := os.ReadFile(folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(copied)
	written := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			args := strings.Fields(line)[1:]
			if code, out, messages := runLine(t, args...); code != exitDone {
				t.Errorf("%s: exit %d: %s%s", line, code, out, messages)
				continue
			}
			if args[0] != "label" {
				continue
			}
			written++
			right, all := rightOf(t, args[len(args)-1])
			if all != 60 || right < 54 {
				t.Errorf("%s: %d of %d are right", line, right, all)
			}
		}
	}
	if written != 4 {
		t.Errorf("%d files are labelled", written)
	}
}

// rightOf counts the rows of a labelled file whose label is its truth.
func rightOf(t *testing.T, path string) (right, all int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".csv") {
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			if all++; row[2] == row[len(row)-1] {
				right++
			}
		}
		return right, all
	}
	for line := range strings.Lines(string(text)) {
		var row struct {
			Label, Truth string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Truth == "" {
			t.Fatalf("%s: %v", line, err)
		}
		if all++; row.Label == row.Truth {
			right++
		}
	}
	return right, all
}
