package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	npy "github.com/slkstream/slkstream/internal/array"
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
		"long.csv":       "id,label,emb_0,emb_1\n1,cat,1,2\n2," + strings.Repeat("x", 1025) + ",1,2\n",
		"other.csv":      "crop,emb\na,\"[0.5,1,2]\"\n",
		"no-numbers.csv": "crop,emb\na,x/1.jpg\n",
		"times.csv":      "taken,emb\n2026-03-01 10:00:00,\"[0.5,1,2]\"\n",
		"times.jsonl":    `{"time":"2026-03-01T10:00:00","vector":[0.5,1,2]}` + "\n",
		"batch.jsonl":    `{"vector":[0.5,1,2]} {"vector":[0.5,1,2]}` + "\n",
		"doubles.jsonl":  `{"vector":[1e30,1,2]}` + "\n",
		"texts.jsonl":    `{"vector":["0.5","1","2"]}` + "\n",
		"other.jsonl":    `{"id":"a","label":"anna","feat":[0.5,1,2]}` + "\n",
	} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := npy.WriteNPYFile(in("rows.npy"), []float32{.5, 1, 2}, 1, 3); err != nil {
		t.Fatal(err)
	}
	type texts struct {
		Vector []string `parquet:"vector,list"`
	}
	if err := parquet.WriteFile(in("texts.parquet"), []texts{{[]string{"0.5", "1"}}}); err != nil {
		t.Fatal(err)
	}
	writeArrowTexts(t, in("texts.arrow"))
	for name, typed := range map[string]string{"floats.npy": "<f8", "objects.npy": "|O"} {
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", typed)
		npy := "\x93NUMPY\x01\x00" + string(rune(len(head)+1)) + "\x00" + head + "\n" + strings.Repeat("\x00", 8)
		if err := os.WriteFile(in(name), []byte(npy), 0o600); err != nil {
			t.Fatal(err)
		}
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
		{label("nested.jsonl", "--fields", nested, "--support", in("gallery.csv"), "--support-fields", "label=name"), "--support-fields names the fields"},
		{label("semicolons.csv", "--k", "1"), `columns are separated by ';': save it with commas`},
		{label("tabs.csv", "--vector-field", "emb_", "--k", "1"), `columns are separated by '\t': save it with commas`},
		{label("no-numbers.csv", "--vector-field", "emb", "--k", "1"), "--vector-field names another column"},
		{label("times.jsonl", "--k", "1"), "has no time zone: RFC 3339 ends in Z, or in one such as +01:00"},
		{label("batch.jsonl", "--k", "1"), "a second object at byte 21: send each as a record, or all as one list, for --vector-field [].vector"},
		{label("doubles.jsonl", "--k", "1"), "are its numbers of another type, such as float64?"},
		{label("texts.jsonl", "--k", "1"), "vector[0] is a text: a vector is a list of numbers; --vector-field says where one is"},
		{label("texts.arrow", "--k", "1"), "or a column a dimension, or name another column with --vector-field"},
		{label("texts.parquet", "--k", "1"), "or a column a dimension, or name another column with --vector-field"},
		{[]string{"teach", in("other.jsonl"), "--labels", "labels"}, `or by POST /api/teach {"id","label"}`},
		{[]string{"teach", in("other.csv"), "--labels", "labels"}, `or by POST /api/teach {"id","label"}`},
		{label("rows.npy", "--support", in("rows.npy"), "--support-labels", in("floats.npy")), "y.astype(int), a column a class with y.argmax(1)"},
		{label("rows.npy", "--support", in("rows.npy"), "--support-labels", in("objects.npy")), "numpy.array([x if isinstance(x, str) else '' for x in y])"},
		{[]string{"teach", in("rows.npy"), "--labels", "labels"}, "has neither ids nor labels: teach takes a form that has"},
		{[]string{"teach", in("gallery.csv"), "--labels", "labels", "--label-field", "who"}, "if it has none, add one"},
		{[]string{"teach", in("long.csv"), "--labels", "labels", "--vector-field", "emb_"}, "row 1: label is 1025 bytes long, more than 1024"},
	} {
		code, out, messages := runLine(t, row.line...)
		if code != exitFailed || !strings.Contains(out+messages, row.says) {
			t.Errorf("%v: exit %d, no %q in\n%s%s", row.line, code, row.says, out, messages)
		}
	}
}

// writeArrowTexts writes a vector of texts.
func writeArrowTexts(t *testing.T, path string) {
	t.Helper()
	column := arrow.Field{Name: "vector", Type: arrow.ListOf(arrow.BinaryTypes.String)}
	rows := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{column}, nil))
	list := rows.Field(0).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"0.5", "1"}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rows.Schema()))
	if err := errors.Join(w.Write(rows.NewRecordBatch()), w.Close(), os.WriteFile(path, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// What map shows of a file whose columns are not all read says how they are; a time in a column has no zone.
func TestMapLeadsOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte("taken,emb,what\n2026-03-01 10:00:00,\"[0.5,1,2]\",person\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runLine(t, "map", path, "--vector-field", "emb")
	if code != exitDone || !strings.Contains(out, "not read   taken, what") ||
		!strings.Contains(out, "--label-field and their siblings") {
		t.Errorf("exit %d: %s", code, out)
	}
	code, out, _ = runLine(t, "map", path, "--fields", "vector=emb,time=taken,label=what")
	for _, says := range []string{"2026-03-01T10:00:00Z", "each of these items has a label", "--label-field - none"} {
		if code != exitDone || !strings.Contains(out, says) {
			t.Errorf("exit %d, no %q: %s", code, says, out)
		}
	}
	code, _, messages := runLine(t, "run", "--support-labels", path)
	if code != exitUsage || !strings.Contains(messages, "unknown flag: --support-labels: it is of label, audit") {
		t.Errorf("exit %d: %s", code, messages)
	}
}

// Of a file that is labelled in part the labelled rows teach, wherever they stand, and the others are counted.
func TestHalfLabelledFilesTeach(t *testing.T) {
	dir, _ := embedded(t)
	path := filepath.Join(t.TempDir(), "half.csv")
	rows := "id,x0,x1,label\na,1,0,\nb,1,0.1,milk\n,0,1,\nd,0,1.1,juice\n"
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, messages := runLine(t, "teach", path, "--labels", "labels", "--embedded-dir", dir)
	for _, says := range []string{"msg=taught examples=2", "rows without a label teach nothing", "rows=2 first=\"row 0\""} {
		if code != exitDone || !strings.Contains(messages, says) {
			t.Errorf("exit %d, no %q: %s", code, says, messages)
		}
	}
	out := filepath.Join(t.TempDir(), "out.csv")
	code, _, messages = runLine(t, "label", "--input", path, "--label-field", "-", "--support", path, "--output", out)
	if code != exitDone || !strings.Contains(messages, "examples=2") {
		t.Errorf("exit %d: %s", code, messages)
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
	for _, says := range []string{says, "--vector-field says where it is", "this process has answered no item again"} {
		if code != exitDone || !strings.Contains(messages, says) {
			t.Errorf("exit %d, no %q in\n%s", code, says, messages)
		}
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
	for _, says := range []string{"no item is called otherwise than its result says", "no example names an item itself", "teach --stream STREAM"} {
		if code != exitDone || !strings.Contains(messages, says) {
			t.Errorf("exit %d, no %q in\n%s%s", code, says, out, messages)
		}
	}
	// A dry run writes no corrections: it needs no topic for them.
	alone := append([]string{"correct", "--since", "24h"}, slices.Concat(topics[:6], topics[8:])...)
	if code, _, messages := runLine(t, alone...); code != exitUsage || !strings.Contains(messages, "corrections is not set") {
		t.Errorf("without a topic of corrections: exit %d, %s", code, messages)
	}
	relabelled := record.Out{Topic: "results", Partition: 0, Value: []byte(`{"id":"in/0/1","label":"eve","confidence":1}`)}
	if err := client.Write(t.Context(), []record.Out{relabelled}); err != nil {
		t.Fatal(err)
	}
	code, out, messages = runLine(t, append(alone, "--dry-run")...)
	if code != exitDone || strings.Join(strings.Fields(out), " ") != "WAS IS ITEMS eve anna 1" {
		t.Errorf("a dry run without a topic of corrections: exit %d, %s%s", code, out, messages)
	}
}
