package table

import (
	"os"
	"path/filepath"
	"testing"
)

// A byte order mark, as spreadsheets and PowerShell write, is no part of the first name or line.
func TestByteOrderMark(t *testing.T) {
	for name, content := range map[string]string{
		"header.csv": "id,v0,v1\na,1,2\n", "quoted.csv": "\"id\",v0,v1\na,1,2\n", "numbers.csv": "1,2\n",
		"lines.jsonl": `{"id":"a","vector":[1,2]}`,
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("\ufeff"+content), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := Open(path, Reading{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row, err := source.Next()
		if err != nil || len(row.Vector) != 2 || row.ID != "a" && name != "numbers.csv" {
			t.Errorf("%s: %+v, %v", name, row, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
}
