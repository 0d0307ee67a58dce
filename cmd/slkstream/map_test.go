package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// map shows what rows of a file and records of a topic become, what is not read, and what would be a dead letter.
func TestMap(t *testing.T) {
	all, _ := crops(t)
	inParquet, inLines := saveCrops(t, all[:5])
	dir, client := embedded(t)
	if err := client.Ensure(t.Context(), topic.Description{Name: "detections", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(inLines)
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Out
	for line := range strings.Lines(string(lines)) {
		out = append(out, record.Out{Topic: "detections", Partition: 0, Key: []byte("k"), Value: []byte(line)})
	}
	out = append(out, record.Out{Topic: "detections", Partition: 0, Value: []byte(`{"feat":[1,"x"]}`)})
	if err := client.Write(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.csv")
	if err := os.WriteFile(broken, []byte("id,x0,x1\na,1,2\nb,1,nan\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		of, fields string
		code       int
		says       []string
	}{
		{inParquet, cropFields, exitDone, []string{
			"row 0", "8 numbers:", "f000.jpg", "cam-0", "not read   confidence, box", "3 read, 0 bad, 3 items; of these have vector 3, id 3",
		}},
		{inLines, cropFields, exitDone, []string{"line 3", "f002.jpg", "not read   confidence, box", "track 0"}},
		{"detections", cropFields, exitFailed, []string{"detections/0/4, key \"k\"", "f004.jpg", "DEAD LETTER: ", "3 read, 1 bad, 2 items"}},
		{"detections", "vector=feet", exitFailed, []string{"DEAD LETTER: ", "nothing at vector-field feet"}},
		{broken, "id=id", exitFailed, []string{"BAD: ", "vector[1] is NaN", "2 read, 1 bad"}},
		{"none.csv", "id=id", exitFailed, []string{"no such file"}},
		{"nowhere", "id=id", exitFailed, []string{"topic nowhere does not exist"}},
	} {
		code, out, messages := runLine(t, "map", row.of, "--fields", row.fields, "--embedded-dir", dir)
		for _, want := range row.says {
			if code != row.code || !strings.Contains(out+messages, want) {
				t.Errorf("map %s --fields %s: exit %d, no %q in\n%s%s", row.of, row.fields, code, want, out, messages)
			}
		}
	}
}
