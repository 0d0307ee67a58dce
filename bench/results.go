package main

import (
	"os"
	"strings"
)

const resultsHead = `# Results

Written by ` + "`go run ./bench`" + `; docs/evaluation.md says how each section measures. Ours and theirs ran in turn, in the same run, with the
same threads; times are medians of the rounds. Figures that other documents quote stand at the end of their section.

`

// readResults returns the text of each section in the file; none if there is no file.
func readResults(path string) (map[string]string, error) {
	results := map[string]string{}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return results, nil
	}
	if err != nil {
		return nil, err
	}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, _, _ := strings.Cut(part, "\n")
		for _, s := range sections {
			if s.title == title {
				results[s.name] = "## " + strings.TrimRight(part, "\n") + "\n\n"
			}
		}
	}
	return results, nil
}

func writeResults(path string, results map[string]string) error {
	var text strings.Builder
	text.WriteString(resultsHead)
	for _, s := range sections {
		text.WriteString(results[s.name])
	}
	return os.WriteFile(path, []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644)
}
