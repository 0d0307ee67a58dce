package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Clusters of a file without ids are written with the row's number as id, as a table too.
func TestClustersHaveIDs(t *testing.T) {
	input, _, _ := saveBlobs(t, 60, 8, 3, 1)
	output := filepath.Join(t.TempDir(), "clusters.csv")
	code, _, messages := runLine(t, strings.Fields("label --input "+input+" --k 3 --output "+output)...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, messages)
	}
	file, err := os.Open(output)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 61 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	id, label := slices.Index(rows[0], "id"), slices.Index(rows[0], "label")
	for i, row := range rows[1:] {
		if row[id] != strconv.Itoa(i) || row[label] == "" {
			t.Errorf("row %d: %v", i, row)
		}
	}
}
