package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// crop is a row of a user's own file, with names of its own.
type crop struct {
	File   string    `parquet:"file" json:"file"`
	Camera string    `parquet:"camera" json:"camera"`
	Taken  time.Time `parquet:"taken,timestamp(millisecond)" json:"taken"`
	Frame  int64     `parquet:"frame_no" json:"frame_no"`
	Score  float64   `parquet:"confidence" json:"confidence"`
	What   string    `parquet:"what" json:"what"`
	Boxes  []int32   `parquet:"box,list" json:"box"`
	Feat   []float32 `parquet:"feat,list" json:"feat"`
}

const cropFields = "vector=feat,id=file,label=what,stream=camera,time=taken,frame=frame_no"

// crops are rows of two cameras in turn, latest first; the first of each class is labelled.
func crops(t *testing.T) (all []crop, truth []int32) {
	t.Helper()
	rows, truth := blobs(200, 8, 3, 4)
	for i, y := range truth {
		c := crop{
			File: fmt.Sprintf("f%03d.jpg", i), Camera: fmt.Sprint("cam-", i%2), Taken: time.UnixMilli(1.7e12 - int64(i)*1000).UTC(),
			Frame: int64(i / 2), Score: .5, Boxes: []int32{1, int32(i)}, Feat: rows[8*i : 8*i+8],
		}
		if i < 40 {
			c.What = fmt.Sprint("class-", y)
		}
		all = append(all, c)
	}
	return all, truth
}

func saveCrops(t *testing.T, all []crop) (parquetFile, lines string) {
	t.Helper()
	dir := t.TempDir()
	parquetFile, lines = filepath.Join(dir, "crops.parquet"), filepath.Join(dir, "crops.jsonl")
	if err := parquet.WriteFile(parquetFile, all); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i := range all {
		line, err := json.Marshal(&all[i])
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := os.WriteFile(lines, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return parquetFile, lines
}

// A file with names of its own, of several cameras, is labelled in each form, and each answer has its row's columns.
func TestLabelKeepsColumns(t *testing.T) {
	all, truth := crops(t)
	inParquet, inLines := saveCrops(t, all)
	for _, input := range []string{inParquet, inLines} {
		for _, form := range []string{".jsonl", ".csv", ".parquet", ".arrow"} {
			output := filepath.Join(t.TempDir(), "out"+form)
			code, _, messages := runLine(t, "label", "--input", input, "--output", output, "--fields", cropFields)
			if code != exitDone || !strings.Contains(messages, "labelled=40 to_answer=160 streams=2") {
				t.Fatalf("exit %d: %s", code, messages)
			}
			switch form {
			case ".jsonl":
				checkCrops(t, input, output, all, truth)
			case ".parquet":
				checkParquet(t, input, output, all)
			default:
				content, err := os.ReadFile(output)
				if err != nil || !bytes.Contains(content, []byte("input_confidence")) || !bytes.Contains(content, []byte("f199.jpg")) {
					t.Errorf("%s: the columns are not kept: %v", form, err)
				}
			}
		}
	}
}

func checkCrops(t *testing.T, input, output string, all []crop, truth []int32) {
	t.Helper()
	content, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		var got struct {
			crop
			ID    string  `json:"id"`
			Label string  `json:"label"`
			Score float64 `json:"input_confidence"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		want := all[i]
		if got.ID != want.File || got.File != want.File || got.Camera != want.Camera || !got.Taken.Equal(want.Taken) ||
			got.Score != .5 || len(got.Boxes) != 2 || got.Boxes[1] != int32(i) || got.What != want.What || got.Feat != nil {
			t.Fatalf("%s: row %d is %s", input, i, line)
		}
		if got.Label == fmt.Sprint("class-", truth[i]) {
			right++
		}
	}
	if right < len(all)*9/10 {
		t.Errorf("%s: %d of %d right", input, right, len(all))
	}
}

func checkParquet(t *testing.T, input, output string, all []crop) {
	t.Helper()
	type answer struct {
		ID   string `parquet:"id"`
		File string `parquet:"file,optional"`
	}
	rows, err := parquet.ReadFile[answer](output)
	if err != nil || len(rows) != len(all) || rows[7].ID != all[7].File || rows[7].File != all[7].File {
		t.Errorf("%s: %d rows, %v", input, len(rows), err)
	}
}

// Labels are the same for a file in order and for one in which cameras and times are mixed, and confidence but for the
// rounding of sums: classes are numbered as they come.
func TestLabelTakesStreamsInOrder(t *testing.T) {
	all, _ := crops(t)
	mixed, _ := saveCrops(t, all)
	var sorted []crop
	for _, odd := range []int{0, 1} {
		for i := len(all) - 1; i >= 0; i-- {
			if i%2 == odd {
				sorted = append(sorted, all[i])
			}
		}
	}
	ordered, _ := saveCrops(t, sorted)
	type answer struct {
		ID, Label  string
		Confidence float64
	}
	answers := func(input string) map[string]answer {
		output := filepath.Join(t.TempDir(), "out.jsonl")
		code, _, messages := runLine(t, "label", "--input", input, "--output", output, "--fields", cropFields)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, messages)
		}
		content, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]answer{}
		for line := range strings.Lines(string(content)) {
			var a answer
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			got[a.ID] = a
		}
		return got
	}
	want, got := answers(ordered), answers(mixed)
	for id, a := range want {
		if b := got[id]; a.Label != b.Label || math.Abs(a.Confidence-b.Confidence) > 1e-5 {
			t.Fatalf("%s is %+v in a file in order, and %+v in a mixed one", id, a, b)
		}
	}
}

// The support is read by the input's fields, by its own, or by the usual names; and a file without a row to answer is said.
func TestSupportHasFieldsOfItsOwn(t *testing.T) {
	all, _ := crops(t)
	unlabelled := append([]crop(nil), all...)
	for i := range unlabelled {
		unlabelled[i].What = ""
	}
	input, _ := saveCrops(t, unlabelled)
	gallery, _ := saveCrops(t, all[:40])
	usual, other := filepath.Join(t.TempDir(), "usual.jsonl"), filepath.Join(t.TempDir(), "other.jsonl")
	var inUsual, inOther []byte
	for i := range all[:40] {
		inUsual = append(record.AppendExample(inUsual, &record.Example{ID: all[i].File, Label: all[i].What, Vector: all[i].Feat}), '\n')
		v, err := json.Marshal(all[i].Feat)
		if err != nil {
			t.Fatal(err)
		}
		inOther = fmt.Appendf(inOther, `{"meta":{"emb":%s},"class":%q}`+"\n", v, all[i].What)
	}
	if err := os.WriteFile(usual, inUsual, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, inOther, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{
		"the input's": {"--support", gallery}, "usual": {"--support", usual},
		"its own": {"--support", other, "--support-fields", "vector=meta.emb,label=class"},
	} {
		output := filepath.Join(t.TempDir(), "out.npy")
		line := append([]string{"label", "--input", input, "--output", output, "--fields", cropFields}, more...)
		if code, _, messages := runLine(t, line...); code != exitDone {
			t.Errorf("%s: exit %d: %s", name, code, messages)
		}
	}
	output := filepath.Join(t.TempDir(), "out.jsonl")
	for _, row := range []struct {
		line []string
		code int
		says string
	}{
		{nil, exitFailed, "all 40 rows of " + gallery + " have a label, 0 to answer: if these are no labels, --label-field"},
		{[]string{"--allow-all-labelled"}, exitDone, "to_answer=0"},
		{[]string{"--label-field", "-", "--support", usual, "--force"}, exitDone, "labelled=0 to_answer=40"},
		{[]string{"--label-field", "whatt", "--force"}, exitFailed, "no column whatt among"},
		{[]string{"--support-fields", "vector=x"}, exitUsage, "there is no support"},
		{[]string{"--time-field", "what", "--force"}, exitFailed, "--time-field names another column"},
	} {
		fields := "vector=feat,id=file,stream=camera,frame=frame_no"
		line := append([]string{"label", "--input", gallery, "--output", output, "--fields", fields}, row.line...)
		if len(row.line) == 0 || row.line[0] == "--allow-all-labelled" {
			line = append(line, "--label-field", "what")
		}
		if code, _, messages := runLine(t, line...); code != row.code || !strings.Contains(messages, row.says) {
			t.Errorf("%v: exit %d: %s, want %d %s", row.line, code, messages, row.code, row.says)
		}
	}
}

// feed sends what a row's fields say.
func TestFeedSendsFields(t *testing.T) {
	dir, client := embedded(t)
	all, _ := crops(t)
	input, _ := saveCrops(t, all[:4])
	code, _, messages := runLine(t, "feed", "--embedded-dir", dir, "--input", input, "--out", "embeddings", "--fields", cropFields)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, messages)
	}
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]record.Item{}
	for _, raw := range records(t, client, "embeddings", 4) {
		items, err := decoder.Decode(t.Context(), &raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw.Key) != items[0].Stream {
			t.Errorf("key %s of stream %s", raw.Key, items[0].Stream)
		}
		seen[items[0].ItemID] = items[0]
	}
	for _, c := range all[:4] {
		if i := seen[c.File]; i.Stream != c.Camera || !i.Time.Equal(c.Taken) || i.Frame != fmt.Sprint(c.Frame) || i.Label != c.What {
			t.Errorf("%+v of %+v", i, c)
		}
	}
}

// Labelled data may be a file with names of its own: eval and tune read it by the fields by which label does, in the order of
// its times, and measure what they measure of the same rows in a folder.
func TestMeasurementsReadFilesByFields(t *testing.T) {
	all, truth := crops(t)
	for i := range all {
		if all[i].What = fmt.Sprint("class-", truth[i]); i%10 == 9 {
			all[i].What, truth[i] = "", -1
		}
	}
	inParquet, inLines := saveCrops(t, all)
	folder := filepath.Join(t.TempDir(), "crops")
	var rows []float32
	slices.Reverse(all) // the latest is first
	slices.Reverse(truth)
	for i := range all {
		rows = append(rows, all[i].Feat...)
	}
	if err := errors.Join(os.Mkdir(folder, 0o755), array.WriteNPYFile(folder+"/X.npy", rows, len(all), 8),
		array.WriteNPYFile(folder+"/y.npy", truth, len(all))); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"eval stream --shots 2", "eval file --shots 2", "eval cluster --k 3", "eval index",
		"tune --for stream --shots 1 --trials 1",
	} {
		var said []string
		for _, data := range []string{folder, inParquet, inLines} {
			with := append(strings.Fields(line), "--data", data, "--json")
			if data != folder {
				with = append(with, "--vector-field", "feat", "--fields", "label=what,time=taken")
			}
			code, out, messages := runLine(t, with...)
			if code != exitDone {
				t.Fatalf("%v: exit %d: %s", with, code, messages)
			}
			said = append(said, regexp.MustCompile(`"(took|seconds|\w*[sS]econds\w*|\w*[pP]er\w*)":[^,}]*`).ReplaceAllString(out, ""))
		}
		if said[0] == "" || said[1] != said[0] || said[2] != said[0] {
			t.Errorf("%s: of a folder\n%sof Parquet\n%sof JSON Lines\n%s", line, said[0], said[1], said[2])
		}
	}
	for fields, says := range map[string]string{
		"vector=feat": "has no label, nor has any other: --label-field says where it is", "label=what": "--vector-field",
		"vector=feat,label=who": "label-field",
	} {
		code, _, messages := runLine(t, "eval", "stream", "--data", inParquet, "--fields", fields)
		if code != exitFailed || !strings.Contains(messages, says) {
			t.Errorf("%s: exit %d: %s", fields, code, messages)
		}
	}
}
