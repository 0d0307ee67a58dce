package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/slkstream/slkstream/internal/table"
)

// skippedRows lists the rows that --skip-bad leaves out, as JSON Lines in a file beside the output.
type skippedRows struct {
	rows []int64 // ascending
	path string  // of the list; "" if the output is a stream
	file *table.Part
	list *bufio.Writer
}

func newSkippedRows(output string) *skippedRows {
	if output == "-" {
		return &skippedRows{}
	}
	return &skippedRows{path: output + ".bad.jsonl"}
}

// add lists a row.
func (s *skippedRows) add(bad *table.BadRow) error {
	s.rows = append(s.rows, bad.Row)
	if s.path == "" {
		return nil
	}
	if s.file == nil {
		file, err := table.CreateBeside(s.path)
		if err != nil {
			return fmt.Errorf("skip-bad: %w", err)
		}
		s.file, s.list = file, bufio.NewWriter(file)
	}
	return json.NewEncoder(s.list).Encode(struct {
		Row    int64  `json:"row"`
		Reason string `json:"reason"`
	}{bad.Row, bad.Err.Error()})
}

// rowOf returns the file's row number of labelled row i.
func (s *skippedRows) rowOf(i int) int64 {
	before := sort.Search(len(s.rows), func(j int) bool { return s.rows[j]-int64(j) > int64(i) })
	return int64(i + before)
}

// commit renames the list to its final name.
func (s *skippedRows) commit() error {
	if s.file == nil {
		return nil
	}
	err := s.list.Flush()
	if err == nil {
		err = s.file.Commit(0o644)
	}
	if err != nil {
		return fmt.Errorf("skip-bad: %w", err)
	}
	return nil
}

// discard deletes a list that was not committed.
func (s *skippedRows) discard() { s.file.Discard() }
