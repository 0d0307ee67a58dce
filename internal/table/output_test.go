package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

func answers() []Answer {
	all := make([]Answer, 20000)
	for i := range all {
		all[i] = Answer{Row: int64(i), Result: record.Result{
			ID: fmt.Sprint("i", i), Label: fmt.Sprint(i % 7),
			Confidence: float64(i%100) / 100, Calibrated: i%2 == 0, Unknown: i%11 == 0, UnknownScore: .25,
		}}
	}
	return all
}

func write(t *testing.T, path string, all []Answer) {
	t.Helper()
	out, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Begin(nil); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := out.Write(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file has its name before it is whole")
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFormOfAnswersReadsBack(t *testing.T) {
	all, dir := answers(), t.TempDir()
	path := func(end string) string { return filepath.Join(dir, "y"+end) }
	for _, end := range []string{".jsonl", ".npy", ".npz", ".csv"} {
		write(t, path(end), all)
	}
	content, err := os.ReadFile(path(".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		var a Answer
		if err := json.Unmarshal([]byte(line), &a); err != nil || !reflect.DeepEqual(a, all[i]) {
			t.Fatalf("line %d: %s: %v", i, line, err)
		}
	}
	labels, err := array.ReadIntegers(path(".npy"))
	if err != nil || !slices.EqualFunc(labels, all,
		func(l int32, a Answer) bool { return fmt.Sprint(l) == a.Label }) {
		t.Errorf("npy: %v", err)
	}
	for _, end := range []string{".npz", ".csv"} { // label's output, read back with vectors added
		archive, err := os.ReadFile(path(end))
		if err != nil || !bytes.Contains(archive, []byte("label")) || !bytes.Contains(archive, []byte("confidence")) {
			t.Errorf("%s: %v", end, err)
		}
	}
	content, err = os.ReadFile(path(".csv"))
	if lines := strings.Split(string(content), "\n"); err != nil || len(lines) != len(all)+2 ||
		lines[1] != "0,i0,0,0,true,true,0.25" {
		t.Errorf("csv: %d lines, %s: %v", len(lines), lines[1], err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	existing := filepath.Join(dir, "y.jsonl")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(existing, false)
	if err == nil || !strings.Contains(err.Error(), "y.jsonl exists; --force overwrites it") {
		t.Error(err)
	}
	_, err = Create(filepath.Join(dir, "y.txt"), false)
	if err == nil || !strings.Contains(err.Error(), "y.txt: its name must end in") {
		t.Error(err)
	}
	if _, err := Create(filepath.Join(dir, "none", "y.npy"), false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d.npy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(dir, "d.npy"), true); err == nil ||
		!strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	forced, err := Create(existing, true)
	if err != nil {
		t.Fatal(err)
	}
	forced.Discard()
	if content, _ := os.ReadFile(existing); string(content) != "mine" {
		t.Error("a file that was given up has touched the one it would have replaced")
	}
}

// Labels of .npy are numbers if all of them are and none is below 0, with -1 for rows without a label; else texts.
func TestLabelsOfNPY(t *testing.T) {
	for name, c := range map[string]struct{ labels, want []string }{
		"numbers": {[]string{"3", "", "0"}, []string{"3", "", "0"}},
		"texts":   {[]string{"milk", "", "Käse", "7"}, []string{"milk", "", "Käse", "7"}},
		"zeros":   {[]string{"007", "1"}, []string{"007", "1"}},
		"below 0": {[]string{"-1", "1", ""}, []string{"-1", "1", ""}},
		"none":    {nil, nil},
	} {
		path := filepath.Join(t.TempDir(), "y.npy")
		var all []Answer
		for i, label := range c.labels {
			all = append(all, Answer{Row: int64(i), Result: record.Result{Label: label}})
		}
		write(t, path, all)
		if got, err := array.ReadLabels(path); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
