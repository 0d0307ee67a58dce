package main

import (
	"fmt"
	"os"
	"regexp"
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
