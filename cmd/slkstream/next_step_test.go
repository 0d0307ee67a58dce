package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// Files as others write them: each message names the setting, or the change of the file, that leads on.
func TestMessagesLeadOn(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"nested.jsonl":   `{"payload":{"dets":[{"uid":"u1","feat":[0.5,1,2],"b.b":{"corners":[1,2,3,4]}}]},"size":[640]}` + "\n",
		"gallery.jsonl":  `{"name":"anna","feat":[0.5,1,2]}` + "\n",
		"gallery.csv":    "who,emb_0,emb_1,emb_2\nanna,0.5,1,2\n",
		"semicolons.csv": "crop;emb_0;emb_1;emb_2\na;0,5;1;2\n",
		"tabs.csv":       "crop\temb_0\temb_1\temb_2\na\t0.5\t1\t2\n",
		"other.csv":      "crop,emb\na,\"[0.5,1,2]\"\n",
		"no-numbers.csv": "crop,emb\na,x/1.jpg\n",
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := array.WriteNPYFile(in("rows.npy"), []float32{.5, 1, 2}, 1, 3); err != nil {
		t.Fatal(err)
	}
	label := func(input string, more ...string) []string {
		return append([]string{"label", "--input", in(input), "--output", in("out.jsonl")}, more...)
	}
	nested, lists := "vector=payload.dets[].feat", `numbers at payload.dets[].b\.b.corners, payload.dets[].feat`
	for _, row := range []struct {
		line []string
		says string
	}{
		{[]string{"map", in("nested.jsonl")}, lists},
		{[]string{"map", in("nested.jsonl"), "--vector-field", "dets[].feat"}, lists},
		{label("nested.jsonl", "--fields", nested, "--support", in("gallery.jsonl")), "--support-fields vector=NAME,label=NAME"},
		{label("nested.jsonl", "--fields", nested, "--support", in("other.csv")), "--support-fields vector=NAME,label=NAME"},
		{label("semicolons.csv", "--k", "1"), `columns are separated by ';': save it with commas`},
		{label("tabs.csv", "--vector-field", "emb_", "--k", "1"), `columns are separated by '\t': save it with commas`},
		{label("no-numbers.csv", "--vector-field", "emb", "--k", "1"), "--vector-field names another column"},
		{[]string{"teach", in("rows.npy"), "--labels", "labels"}, "has neither ids nor labels: teach takes a form that has"},
		{[]string{"teach", in("gallery.csv"), "--labels", "labels", "--label-field", "who"}, "if it has none, add one"},
	} {
		code, out, messages := runLine(t, row.line...)
		if code != exitFailed || !strings.Contains(out+messages, row.says) {
			t.Errorf("%v: exit %d, no %q in\n%s%s", row.line, code, row.says, out, messages)
		}
	}
}

// A correction without the fields of the stage reads nothing, and says so.
func TestCorrectionSaysWhatItCannotRead(t *testing.T) {
	dir, client := embedded(t)
	example := filepath.Join(t.TempDir(), "example.jsonl")
	if err := os.WriteFile(example, []byte(`{"id":"e","label":"anna","vector":[1,2,3]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	topics := []string{"--in", "in", "--out", "results", "--labels", "labels", "--corrections", "corrections", "--embedded-dir", dir}
	check := append([]string{"check", "--create"}, topics...)
	for _, line := range [][]string{check, {"teach", example, "--labels", "labels", "--embedded-dir", dir}} {
		if code, _, messages := runLine(t, line...); code != exitDone {
			t.Fatalf("%v: exit %d: %s", line, code, messages)
		}
	}
	value := []byte(`{"payload":{"feat":[1,2,3]}}`)
	if err := client.Write(t.Context(), []record.Out{{Topic: "in", Partition: 0, Value: value}}); err != nil {
		t.Fatal(err)
	}
	code, _, messages := runLine(t, append([]string{"correct", "--since", "24h", "--dry-run"}, topics...)...)
	const says = "records cannot be read, and are not corrected"
	if code != exitDone || !strings.Contains(messages, says) || !strings.Contains(messages, "--vector-field says where it is") {
		t.Errorf("exit %d, no %q in\n%s", code, says, messages)
	}
	// Where everything is called as before, there is no table of changes to read, but a sentence.
	alike := []record.Out{
		{Topic: "in", Partition: 0, Value: []byte(`{"vector":[1,2,3]}`)},
		{Topic: "results", Partition: 0, Value: []byte(`{"id":"in/0/1","label":"anna","confidence":1}`)},
	}
	if err := client.Write(t.Context(), alike); err != nil {
		t.Fatal(err)
	}
	code, out, messages := runLine(t, append([]string{"correct", "--since", "24h", "--dry-run"}, topics...)...)
	// Nor does the example, under an id of its own, name an item: that is said, as people think that a sender's id does.
	for _, says := range []string{"no item is called otherwise than its result says", "no example names an item itself"} {
		if code != exitDone || !strings.Contains(messages, says) {
			t.Errorf("exit %d, no %q in\n%s%s", code, says, out, messages)
		}
	}
}
