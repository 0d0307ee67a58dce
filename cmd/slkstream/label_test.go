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
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/table"
)

// blobs are rows around a few far centres, in random order, and the centre of each.
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
			if code, _, messages := runLine(t, strings.Fields(line)...); code != exitDone {
				t.Fatalf("exit %d: %s", code, messages)
			}
			answers, err := array.ReadIntegers(output)
			if err != nil || len(answers.Integers) != len(truth) {
				t.Fatal(err)
			}
			wrong := 0
			for i, c := range truth {
				if answers.Integers[i] != c {
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

func TestLabelRefuses(t *testing.T) {
	input, _, _ := saveBlobs(t, 30, 4, 2, 1)
	support, labels, _ := saveBlobs(t, 10, 4, 2, 2)
	other, _, _ := saveBlobs(t, 10, 5, 2, 2)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\"vector\":[1,2,3,4],\"label\":\"a\"}\n{\"vector\":[1,2,3,4]}\n{\"vector\":[1,2\n"), 0o600); err != nil {
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
			"give labelled examples, or the number of clusters with --k",
		},
		{
			"--input " + input + " --k 2 --support " + support + " --output " + out + ".npy", exitUsage,
			"leave one out",
		},
		{"--input " + bad + " --k 2 --output " + out + ".jsonl", exitFailed, "bad.jsonl: line 3"},
		{
			"--input " + input + " --support " + bad + " --output " + out + ".jsonl", exitFailed,
			"row 1 has no label",
		},
		{
			"--input " + input + " --support " + other + " --support-labels " + labels + " --output " + out + ".npy",
			exitFailed, "rows of 4 numbers, but the support has 5",
		},
		{
			"--input " + input + " --support " + input + " --support-labels " + labels + " --output " + out + ".npy",
			exitFailed, "has more rows than the 10 labels",
		},
		{
			"--input " + support + " --k 11 --output " + out + ".npy", exitFailed,
			"10 rows cannot be parted into 11 clusters",
		},
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

// The report is one page that asks the network for nothing and says what is in the file.
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

// A stop in the middle leaves nothing half-written.
func TestLabelStopped(t *testing.T) {
	input, _, _ := saveBlobs(t, 3000, 16, 4, 1)
	output := filepath.Join(t.TempDir(), "out.npy")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, messages bytes.Buffer
	code := execute(ctx, strings.Fields("label --input "+input+" --k 4 --output "+output), nil, &out, &messages)
	left, err := os.ReadDir(filepath.Dir(output))
	if code != exitFailed || err != nil || len(left) != 0 {
		t.Errorf("exit %d, left %v: %s", code, left, messages.String())
	}
}

// numpy's default is float64: it is read, and that it is rounded is said.
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
