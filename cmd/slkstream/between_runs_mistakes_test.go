//go:build mistakes

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Histories between two runs find builds that hold a mistake, each among the histories that CI plays.
func TestSettingsBetweenRunsFindMistakes(t *testing.T) {
	for _, m := range []struct {
		name, folder, right, wrong string
		sign                       string // of the broken promise
	}{
		{
			"what is answered is forgotten at a replay", "pipeline",
			"i.buffer.Skip(name, last)", "_, _ = name, last", "times",
		},
		{
			"offsets are committed before results", "producer",
			"	if err := a.records.Write(ctx, c.Records); err != nil {",
			"	if c.Offset >= 0 {\n_, _ = a.state.Write(ctx, c.State), a.offset(ctx, c.Offset)\n}\n" +
				"if err := a.records.Write(ctx, c.Records); err != nil {",
			"an answer to each record",
		},
		{
			"a sender chooses the key of what is taught", "pipeline",
			"cmp.Or(it.OwnName(), e.Keys[i])", "cmp.Or(it.ItemID, e.Keys[i])", "in force",
		},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel() // they wait more than they compute
			binary := buildMistaken(t, m.folder, m.right, m.wrong)
			for i := range uint64(*histories) {
				h := newBetweenRuns(t, *firstSeed+i, binary)
				for _, broken := range h.play(15 * time.Second) {
					if strings.Contains(broken, m.sign) {
						t.Logf("history %d, %s: %.200s", i+1, h.about, broken)
						return
					}
				}
			}
			t.Errorf("%d histories do not find it", *histories)
		})
	}
}

// The histories of a state topic find its builds that hold a mistake.
func TestHistoriesOfTheStateFindMistakes(t *testing.T) {
	for name, m := range map[string]struct{ right, wrong string }{
		"snapshots of one commit have one version": {"		k.version++\n", "		k.version = k.sequence\n"},
		"a stream that comes back counts from one": {
			"		k.version++\n", "		if k.version++; len(t.current.keys) == 0 {\nk.version = 1\n}\n",
		},
		"a key is taken while it holds something": {" || taken[at.String()] {", " {"},
		"so it is, and all versions are one": {
			"		k.version++\n		s.Commit, s.Version = k.sequence, k.version\n" +
				"		at := stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: snapshotKind, stream: s.Stream}\n" +
				"		for t.current.owner == k.owner && t.current.slot == at.slot || taken[at.String()] {\n",
			"		s.Commit, s.Version = k.sequence, k.version\n" +
				"		at := stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: snapshotKind, stream: s.Stream}\n" +
				"		for t.current.owner == k.owner && t.current.slot == at.slot {\n",
		},
		"the first chunk is deleted first":                {"range slices.Backward(t.current.keys)", "range t.current.keys"},
		"a stream is forgotten before what is left of it": {"t.entries > 0 || k.superfluousNext != nil", "t.entries > 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mistaken, _ := overlay(t, "internal/state", m.right, m.wrong)
			said, err := exec.Command("go", "test", "-count=1", "-overlay", mistaken, "-run", "^TestRandomHistories$",
				"../../internal/state").CombinedOutput()
			if !strings.Contains(string(said), "--- FAIL: TestRandomHistories") {
				t.Errorf("they do not find it: %v, %s", err, said)
			}
		})
	}
}

// buildMistaken builds slkstream with a text that is in one place of a folder of this repository replaced.
func buildMistaken(t *testing.T, folder, right, wrong string) string {
	mistaken, dir := overlay(t, folder, right, wrong)
	binary := filepath.Join(dir, "slkstream")
	build := exec.Command("go", "build", "-overlay", mistaken, "-o", binary, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return binary
}

// overlay is a file, in a folder of the test's, by which go replaces a text that is in one place of a folder of this repository.
func overlay(t *testing.T, folder, right, wrong string) (file, dir string) {
	dir = t.TempDir()
	var path, source string
	err := filepath.WalkDir(filepath.Join("..", "..", folder), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), right); n > 1 || n == 1 && path != "" {
			t.Fatalf("%q is in more than one place", right)
		} else if n == 1 {
			path, source = name, string(text)
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("%q is nowhere in %s: %v", right, folder, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	save := saver(t, dir)
	replaced := save("mistaken.go", strings.Replace(source, right, wrong, 1))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	return save("overlay.json", string(list)), dir
}
