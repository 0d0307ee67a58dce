package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/table"
)

// blobs returns rows around a few distant centres, in random order, and the centre of each.
func blobs(n, d, k int, seed uint64) (rows []float32, classes []int32) {
	random := rand.New(rand.NewPCG(seed, 1))
	centres := make([]float32, k*d)
	fixed := rand.New(rand.NewPCG(7, 7)) // the same centres for every seed
	for i := range centres {
		centres[i] = 2 * float32(fixed.NormFloat64())
	}
	for range n {
		c := random.IntN(k)
		classes = append(classes, int32(c))
		for j := range d {
			rows = append(rows, centres[c*d+j]+.5*float32(random.NormFloat64()))
		}
	}
	return rows, classes
}

// saveBlobs writes blobs as X.npy and y.npy of a new folder.
func saveBlobs(t *testing.T, n, d, k int, seed uint64) (x, y string, classes []int32) {
	t.Helper()
	dir := t.TempDir()
	x, y = filepath.Join(dir, "X.npy"), filepath.Join(dir, "y.npy")
	rows, classes := blobs(n, d, k, seed)
	if err := errors.Join(array.WriteNPYFile(x, rows, n, d), array.WriteNPYFile(y, classes, n)); err != nil {
		t.Fatal(err)
	}
	return x, y, classes
}

func TestLabelFromSupport(t *testing.T) {
	input, _, truth := saveBlobs(t, 900, 16, 4, 1)
	support, labels, _ := saveBlobs(t, 40, 16, 4, 2)
	for name, more := range map[string]string{"one solve": "", "codes": "--max-memory 300KiB"} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "out.npy")
			line := "label --input " + input + " --support " + support + " --support-labels " + labels + " --output " +
				output + " " + more
			code, _, messages := runLine(t, strings.Fields(line)...)
			if code != exitDone || name == "codes" && !strings.Contains(messages, `limit="300 KiB"`) {
				t.Fatalf("exit %d: %s", code, messages)
			}
			answers, err := array.ReadIntegers(output)
			if err != nil || len(answers) != len(truth) {
				t.Fatal(err)
			}
			wrong := 0
			for i, c := range truth {
				if answers[i] != c {
					wrong++
				}
			}
			if wrong > 9 {
				t.Errorf("%d of %d rows of well parted classes are wrong", wrong, len(truth))
			}
			if code, _, messages := runLine(t, strings.Fields(line)...); code != exitFailed ||
				!strings.Contains(messages, "--force") {
				t.Errorf("a second time: exit %d: %s", code, messages)
			}
			if code, _, messages := runLine(t, strings.Fields(line+" --force")...); code != exitDone {
				t.Errorf("by force: exit %d: %s", code, messages)
			}
		})
	}
}

func TestLabelClusters(t *testing.T) {
	input, _, truth := saveBlobs(t, 1500, 16, 5, 3)
	for name, more := range map[string]string{"one solve": "", "codes": "--max-memory 450KiB"} {
		t.Run(name, func(t *testing.T) {
			code, out, messages := runLine(t, strings.Fields("label --input "+input+" --k 5 --output - "+more)...)
			if code != exitDone {
				t.Fatalf("exit %d: %s", code, messages)
			}
			clusters := make([]int32, 0, len(truth))
			for line := range strings.Lines(out) {
				var a table.Answer
				if err := json.Unmarshal([]byte(line), &a); err != nil || a.Row != int64(len(clusters)) {
					t.Fatalf("%s: %v", line, err)
				}
				var cluster int32
				if _, err := fmt.Sscan(a.Label, &cluster); err != nil {
					t.Fatal(err)
				}
				clusters = append(clusters, cluster)
			}
			if len(clusters) != len(truth) || evaluate.NMI(truth, clusters) < .95 {
				t.Errorf("%d rows, NMI %.3f", len(clusters), evaluate.NMI(truth, clusters))
			}
		})
	}
}

// The plan is logged once, and what is left of the neighbours when that is known.
func TestLabelLogsItsPlanOnce(t *testing.T) {
	input, _, _ := saveBlobs(t, 1500, 64, 5, 3)
	code, _, messages := runLine(t, strings.Fields("label --input "+input+" --k 5 --output -")...)
	plans, shares := strings.Count(messages, "msg=plan"), strings.Count(messages, "neighbours_kept=")
	if code != exitDone || plans != 1 || shares != 1 {
		t.Errorf("exit %d: %s", code, messages)
	}
}

func TestLabelRefuses(t *testing.T) {
	input, _, _ := saveBlobs(t, 30, 4, 2, 1)
	support, labels, _ := saveBlobs(t, 10, 4, 2, 2)
	other, _, _ := saveBlobs(t, 10, 5, 2, 2)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\"vector\":[1,2,3,4],\"label\":\"a\"}\n{\"vector\":[1,2,3,4]}\n{\"vector\":[1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	unlabelled := filepath.Join(t.TempDir(), "unlabelled.jsonl")
	if err := os.WriteFile(unlabelled, []byte("{\"vector\":[1,2]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody, below := filepath.Join(t.TempDir(), "nobody.npy"), filepath.Join(t.TempDir(), "below.npy")
	empty := filepath.Join(t.TempDir(), "empty.npy")
	nan := float32(math.NaN())
	if err := errors.Join(array.WriteNPYFile(nobody, slices.Repeat([]int32{-1}, 10), 10),
		array.WriteNPYFile(below, slices.Repeat([]int32{-2}, 10), 10),
		array.WriteNPYFile(empty, []float32{1, nan, nan, 1}, 2, 2)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, row := range []struct {
		line string
		code int
		says string
	}{
		{
			"--input " + input + " --output " + out + ".npy", exitUsage,
			"give labelled examples, or the number of clusters with --k, or --class-vectors",
		},
		{
			"--input " + input + " --k 2 --support " + support + " --output " + out + ".npy", exitUsage,
			"leave one out",
		},
		{"--input " + bad + " --k 2 --output " + out + ".jsonl", exitFailed, "bad.jsonl: line 3"},
		{
			"--input " + input + " --support " + bad + " --output " + out + ".jsonl", exitFailed,
			"line 3",
		},
		{
			"--input " + input + " --support " + other + " --support-labels " + labels + " --output " + out + ".npy",
			exitFailed, "rows of 4 numbers, but the support has 5",
		},
		{
			"--input " + input + " --support " + input + " --support-labels " + labels + " --output " + out + ".npy",
			exitFailed, "support-labels: has 10 rows, there are more vectors",
		},
		{
			"--input " + support + " --k 11 --output " + out + ".npy", exitFailed,
			"10 rows cannot be parted into 11 clusters",
		},
		{"--input " + input + " --k 2 --force --output " + input, exitUsage, "is read: it would be overwritten"},
		{
			"--input " + input + " --k 2 --report " + out + ".npy --output " + dir + "/../" + filepath.Base(dir) +
				"/out.npy", exitUsage, "which is another file of this command",
		},
		{
			"--input " + unlabelled + " --output " + out + ".npy", exitFailed,
			"no row of " + unlabelled + " has a label: give labelled examples with --support",
		},
		{
			"--input " + input + " --support " + support + " --support-labels " + nobody + " --output " + out + ".npy",
			exitFailed, "no row of " + support + " or " + input + " has a label",
		},
		{
			"--input " + input + " --support " + support + " --support-labels " + below + " --output " + out + ".npy",
			exitFailed, "value 0: -2 is no class, which is 0 or more, or -1 for unknown",
		},
		{
			"--input " + empty + " --k 2 --output " + out + ".jsonl --skip-bad", exitFailed,
			"all 2 rows are bad, the first: " + empty + ": row 0: vector[1] is NaN: not a finite number",
		},
		{"--input " + input + " --k 2 --output .", exitFailed, "output: .: its name must end in one of .jsonl"},
		{"--input - --k 2 --output -", exitFailed, "input: -: its name must end in one of .npy"},
		{"--input " + dir + "/none.npy --k 2 --output " + out + ".npy", exitFailed, "none.npy"},
		{"--input " + dir + " --k 2 --output " + out + ".npy", exitFailed, "its name must end in"},
		{"--input " + input + " --k 2 --output " + dir + "/none/out.npy", exitFailed, "no such file or directory"},
		{"--input " + input + " --k 2 --output " + out + ".txt", exitFailed, "its name must end in one of .jsonl"},
	} {
		code, _, messages := runLine(t, append([]string{"label"}, strings.Fields(row.line)...)...)
		if code != row.code || !strings.Contains(messages, row.says) {
			t.Errorf("label %s: exit %d: %s; want exit %d, %s", row.line, code, messages, row.code, row.says)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A file needs no labelled row if each class has a vector; classes are named as in the support.
func TestLabelByClassVectors(t *testing.T) {
	input, _, truth := saveBlobs(t, 900, 16, 4, 1)
	few, classes := blobs(40, 16, 4, 2)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var vectors, support bytes.Buffer
	seen := map[int32]bool{}
	for i, c := range classes {
		row, _ := json.Marshal(few[i*16 : i*16+16])
		line := fmt.Sprintf("{\"label\":\"class %d\",\"vector\":%s}\n", c, row)
		switch {
		case !seen[c]:
			vectors.WriteString(line)
		case c < 2: // two of the classes have labelled rows
			support.WriteString(line)
		}
		seen[c] = true
	}
	first, _, _ := strings.Cut(vectors.String(), "\n")
	for name, content := range map[string]string{
		"vectors.jsonl": vectors.String(), "support.jsonl": support.String(), "one.jsonl": first + "\n",
		"twice.jsonl": first + "\n" + first + "\n", "none.jsonl": "",
		"unnamed.jsonl": `{"vector":[1,2]}`, "short.jsonl": `{"vector":[1,2],"label":"a"}`,
	} {
		if err := os.WriteFile(at(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, more := range []string{"", " --support " + at("support.jsonl")} {
		line := "label --force --input " + input + " --output " + at("out.jsonl") +
			" --class-vectors " + at("vectors.jsonl") + more
		if code, _, messages := runLine(t, strings.Fields(line)...); code != exitDone {
			t.Fatalf("exit %d: %s", code, messages)
		}
		wrong, row := 0, 0
		content, _ := os.ReadFile(at("out.jsonl"))
		for line := range strings.Lines(string(content)) {
			if !strings.Contains(line, fmt.Sprintf(`"label":"class %d"`, truth[row])) {
				wrong++
			}
			row++
		}
		if row != 900 || wrong > 9 {
			t.Errorf("support %q: %d of %d rows are wrong", more, wrong, row)
		}
	}
	for name, says := range map[string]string{
		"twice.jsonl":   "two vectors of class",
		"unnamed.jsonl": "line 1 has no label",
		"none.jsonl":    "no rows",
		"short.jsonl":   `class "a" has 2 numbers, the rows have 16`,
	} {
		code, _, messages := runLine(t, "label", "--input", input, "--output", at("no.jsonl"),
			"--class-vectors", at(name))
		if code != exitFailed || !strings.Contains(messages, says) {
			t.Errorf("%s: exit %d: %s; want %s", name, code, messages, says)
		}
	}
	code, _, messages := runLine(t, "label", "--input", input, "--output", at("no.jsonl"),
		"--class-vectors", at("one.jsonl"), "--support", at("support.jsonl"))
	if code != exitFailed || !strings.Contains(messages, "has labelled rows, but no vector") {
		t.Errorf("a class without a vector: exit %d: %s", code, messages)
	}
}

// The report is one page that loads nothing from the network and describes the file.
func TestLabelReport(t *testing.T) {
	input, _, _ := saveBlobs(t, 300, 16, 4, 1)
	support, labels, _ := saveBlobs(t, 40, 16, 4, 2)
	folder := t.TempDir()
	line := "label --input " + input + " --support " + support + " --support-labels " + labels + " --output " +
		folder + "/y.npy --report " + folder + "/page.html"
	if code, _, messages := runLine(t, strings.Fields(line)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, messages)
	}
	page, err := os.ReadFile(folder + "/page.html")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if !strings.Contains(text, "300 rows, 4 classes") || strings.Count(text, "<circle") != 300 {
		t.Errorf("%d circles in a page of %d bytes", strings.Count(text, "<circle"), len(text))
	}
	for _, not := range []string{"http://", "https://", "<script", "src=", "ZgotmplZ"} {
		if strings.Contains(text, not) {
			t.Errorf("the page holds %s", not)
		}
	}
	if code, _, messages := runLine(t, append(strings.Fields(line), "--force")...); code != exitDone {
		t.Errorf("by force: exit %d: %s", code, messages)
	}
}

// Forty labelled rows suffice for a calibration; without it the labels are the same and confidences differ.
func TestLabelCalibrates(t *testing.T) {
	input, _, _ := saveBlobs(t, 300, 16, 4, 1)
	support, labels, _ := saveBlobs(t, 40, 16, 4, 2)
	output := filepath.Join(t.TempDir(), "out.jsonl")
	line := "label --force --input " + input + " --support " + support + " --support-labels " + labels +
		" --output " + output
	var answers [2][]table.Answer
	for i, more := range []string{"", " --calibrate=false"} {
		if code, _, messages := runLine(t, strings.Fields(line+more)...); code != exitDone {
			t.Fatalf("exit %d: %s", code, messages)
		}
		for _, text := range linesOf(t, output) {
			var a table.Answer
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatal(err)
			}
			answers[i] = append(answers[i], a)
		}
	}
	for i, with := range answers[0] {
		if without := answers[1][i]; !with.Calibrated || without.Calibrated || with.Label != without.Label {
			t.Fatalf("calibrated %+v, not %+v", with, without)
		}
	}
}

// At its end label says how many examples there were, how many rows it answered, how many of these are unknown beside
// how many were allowed, and how sure the answers are.
func TestLabelSaysWhatItGave(t *testing.T) {
	rows, classes := blobs(200, 16, 4, 1)
	var lines strings.Builder
	for i, y := range classes {
		label := ""
		if i < 40 {
			label = fmt.Sprintf(`"label":"class-%d",`, y)
		}
		values, err := json.Marshal(rows[i*16 : i*16+16])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "{%s\"vector\":%s}\n", label, values)
	}
	input, output := filepath.Join(t.TempDir(), "in.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(input, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for more, sure := range map[string]string{
		"--unknown-rate 0.1": "% of the answers right", "--unknown-rate 0.1 --calibrate=false": `how_sure="not calibrated" `,
	} {
		line := "label --force --input " + input + " --output " + output + " " + more
		code, _, messages := runLine(t, strings.Fields(line)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, messages)
		}
		unknown := 0
		for _, text := range linesOf(t, output)[40:] {
			if strings.Contains(text, `"unknown":true`) {
				unknown++
			}
		}
		for _, want := range []string{
			"examples=40 answered=160", fmt.Sprintf(`unknown="%d (%.1f %%; 10 %% of`, unknown, float64(unknown)/1.6), sure,
		} {
			if !strings.Contains(messages, want) {
				t.Errorf("%s: no %q in %s", more, want, messages)
			}
		}
	}
}

// Stopping label leaves no partial file.
func TestLabelStopped(t *testing.T) {
	input, _, _ := saveBlobs(t, 3000, 16, 4, 1)
	output := filepath.Join(t.TempDir(), "out.npy")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, messages bytes.Buffer
	code := execute(ctx, strings.Fields("label --input "+input+" --k 4 --output "+output), &out, &messages)
	left, err := os.ReadDir(filepath.Dir(output))
	if code != exitFailed || err != nil || len(left) != 0 {
		t.Errorf("exit %d, left %v: %s", code, left, messages.String())
	}
}

// numpy's default is float64: it is accepted, and a log line notes the rounding.
func TestLabelFloat64(t *testing.T) {
	const rows, columns = 40, 4
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }\n", rows, columns)
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	file = append(file, header...)
	for i := range rows * columns {
		file = binary.LittleEndian.AppendUint64(file, math.Float64bits(float64(1+i/columns%2*i%columns)+.1))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "X.npy"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, messages := runLine(t, "label", "--input", filepath.Join(dir, "X.npy"), "--k", "2", "--output",
		filepath.Join(dir, "y.npy"))
	if code != exitDone || !strings.Contains(messages, "float64 numbers are rounded to float32") {
		t.Errorf("exit %d: %s", code, messages)
	}
}

// Bad rows make label fail, with their count. With --skip-bad they are left out, listed, and have no label
// in the output.
func TestLabelSkipsBadRows(t *testing.T) {
	folder := t.TempDir()
	nan := float32(math.NaN())
	rows := []float32{1, 0, 1, .1, nan, 0, 0, 1, .1, 1, 0, 0, 1, .05, 0, float32(math.Inf(1)), .05, 1}
	const n = 9
	bad := []int64{2, 5, 7}
	matrix := filepath.Join(folder, "x.npy")
	if err := array.WriteNPYFile(matrix, rows, n, 2); err != nil {
		t.Fatal(err)
	}
	var lines, sheet strings.Builder
	sheet.WriteString("name,e0,e1\n")
	for i := range n {
		switch {
		case i == 5:
			lines.WriteString("{\"id\":\"half a li\n")
		case slices.Contains(bad, int64(i)):
			fmt.Fprintf(&lines, `{"id":"r%d","emb":[0,0]}`+"\n", i)
		default:
			fmt.Fprintf(&lines, `{"id":"r%d","emb":[%g,%g]}`+"\n", i, rows[2*i], rows[2*i+1])
		}
		fmt.Fprintf(&sheet, "r%d,%g,%g\n", i, rows[2*i], rows[2*i+1])
	}
	save := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for input, fields := range map[string]string{
		matrix: "", save("x.jsonl", lines.String()): " --vector-field emb", save("x.csv", sheet.String()): " --vector-field e --id-field name",
	} {
		output := filepath.Join(folder, filepath.Base(input)+".out.jsonl")
		line := "label --input " + input + " --k 2 --output " + output + fields
		code, _, messages := runLine(t, strings.Fields(line)...)
		if _, err := os.Stat(output); code != exitFailed || err == nil || !strings.Contains(messages, "3 rows are bad") ||
			!strings.Contains(messages, "(--skip-bad leaves bad rows unlabelled)") {
			t.Errorf("%s: exit %d: %s", line, code, messages)
		}
		if code, _, messages = runLine(t, append(strings.Fields(line), "--skip-bad")...); code != exitDone {
			t.Fatalf("%s: %s", line, messages)
		}
		var listed []int64
		for _, text := range linesOf(t, output+".bad.jsonl") {
			var entry struct {
				Row    int64
				Reason string
			}
			if err := json.Unmarshal([]byte(text), &entry); err != nil || entry.Reason == "" {
				t.Errorf("%s: %v", text, err)
			}
			listed = append(listed, entry.Row)
		}
		if !slices.Equal(listed, bad) {
			t.Errorf("%s: rows %v are listed, want %v", line, listed, bad)
		}
		toStdout := strings.Replace(line, output, "- --skip-bad", 1)
		code, _, messages = runLine(t, strings.Fields(toStdout)...)
		if code != exitDone || !strings.Contains(messages, "rows=3") {
			t.Errorf("%s: exit %d: %s", toStdout, code, messages)
		}
		answers := linesOf(t, output)
		if len(answers) != n {
			t.Fatalf("%s: %d answers", line, len(answers))
		}
		for i, text := range answers {
			var a table.Answer
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				t.Fatal(err)
			}
			if skipped := slices.Contains(bad, int64(i)); a.Row != int64(i) || a.ID == "" || skipped != (a.Label == "") {
				t.Errorf("%s: row %d: %s", line, i, text)
			}
			if number := fmt.Sprint(i); input != matrix && a.ID != "r"+number && (i != 5 || a.ID != number) {
				t.Errorf("%s: row %d has lost its id: %s", line, i, text)
			}
		}
	}
	good, _, _ := saveBlobs(t, 10, 2, 2, 1)
	stale := filepath.Join(folder, "x.npy.out.jsonl")
	line := "label --input " + good + " --k 2 --skip-bad --force --output " + stale
	code, _, messages := runLine(t, strings.Fields(line)...)
	if left, err := os.ReadFile(stale + ".bad.jsonl"); code != exitDone || err != nil || len(left) > 0 {
		t.Errorf("%s: exit %d: %s; the list of an earlier run is still there: %s", line, code, messages, left)
	}
	skipped := &labelledFile{bad: bad}
	for i, want := range []int64{0, 1, 3, 4, 6, 8} {
		if got := skipped.rowOf(i); got != want {
			t.Errorf("number %d is row %d, want %d", i, got, want)
		}
	}
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// A file of too few labelled rows says why its confidence is not calibrated.
func TestTooFewRowsToCalibrate(t *testing.T) {
	input, _, _ := saveBlobs(t, 60, 8, 3, 1)
	rows, labels, _ := saveBlobs(t, 6, 8, 3, 2)
	output := filepath.Join(t.TempDir(), "out.jsonl")
	code, _, messages := runLine(t, "label", "--input", input, "--output", output, "--support", rows, "--support-labels", labels)
	if want := `"not calibrated: fewer than 20 labelled rows`; code != exitDone || !strings.Contains(messages, want) {
		t.Errorf("exit %d, no %s in %s", code, want, messages)
	}
}

// A row that is left out keeps its other columns, in every form that has some.
func TestBadRowsKeepTheirColumns(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"x.csv": "id,label,note,x0,x1\n1,a,n1,1,2\n2,b,n2,2,1\n3,b,n3,NaN,1\n4,,n4,1,2\n",
		"x.jsonl": `{"id":1,"label":"a","note":"n1","vector":[1,2]}` + "\n" + `{"id":2,"label":"b","note":"n2","vector":[2,1]}` + "\n" +
			`{"id":3,"label":"b","note":"n3","vector":[0,0]}` + "\n" + `{"id":4,"note":"n4","vector":[1,2]}` + "\n",
	} {
		input := filepath.Join(folder, name)
		if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, messages := runLine(t, "label", "--input", input, "--skip-bad", "--output", "-")
		lines := strings.Split(out, "\n")
		want := `{"row":2,"id":"3","label":"","confidence":0,"calibrated":false,"unknown":false,"unknownScore":0,"input_label":"b","note":"n3"}`
		if code != exitDone || len(lines) < 4 || lines[2] != want {
			t.Errorf("%s: exit %d: %s%s", name, code, out, messages)
		}
	}
	input := filepath.Join(folder, "times.csv")
	if err := os.WriteFile(input, []byte("label,note,time,x0,x1\na,n1,,1,2\nb,n2,noon,2,1\n,n3,,1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, messages := runLine(t, "label", "--input", input, "--skip-bad", "--output", "-")
	if want := `"input_label":"b","note":"n2",`; code != exitDone || !strings.Contains(out, want) {
		t.Errorf("a time that is none: exit %d: %s%s", code, out, messages)
	}
}
