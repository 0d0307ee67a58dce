package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slkstream/slkstream/internal/table"
)

// eachID reads the ids of a file: of its rows, or, in JSON Lines, of objects that hold nothing else.
func eachID(path string, use func(string)) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson":
		return eachLineID(path, use)
	}
	number := 0
	return eachRow(path, func(row table.Row) error {
		if row.ID == "" {
			return fmt.Errorf("%s: row %d has no id", path, number)
		}
		number++
		use(row.ID)
		return nil
	})
}

func eachLineID(path string, use func(string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var row struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, number, err)
		}
		if row.ID == "" {
			return fmt.Errorf("%s: line %d has no id", path, number)
		}
		use(row.ID)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
