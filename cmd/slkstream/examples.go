package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"slkstream/internal/memory"
	"slkstream/internal/record"
)

// longestLine bounds one example in a file, as the default does a record.
const longestLine = 16 << 20

// readExamples reads labelled examples from a file of JSON Lines: the form of a record, with a label.
func readExamples(path, model string) ([]memory.Example, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("support: %w", err)
	}
	defer file.Close()
	decoder, err := record.NewDecoder(record.Options{Format: "json", Model: model, MaxBytes: longestLine})
	if err != nil {
		return nil, err
	}
	var examples []memory.Example
	lines := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return nil, fmt.Errorf("support: %w", err)
		}
		if text := trimmed(line); len(text) > 0 {
			label, err := decoder.DecodeLabel(&record.Raw{Value: text})
			if err != nil || label.Teach == nil {
				return nil, fmt.Errorf("support: %s, line %d: %w", path, number, err)
			}
			item := label.Teach
			id := item.ItemID
			if id == "" || id == item.Source.ID() {
				id = fmt.Sprintf("%s:%d", path, number)
			}
			examples = append(examples, memory.Example{ID: id, Label: item.Label, Vector: item.Vector, Model: item.Model})
		}
		if end {
			return examples, nil
		}
	}
}

func trimmed(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}
