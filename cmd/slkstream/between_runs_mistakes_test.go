//go:build mistakes

package main

import (
	"encoding/json"
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
		name, file, right, wrong string
		sign                     string // of the broken promise
	}{
		{
			"what is answered is forgotten at a replay", "pipeline/restore.go",
			"p.intake.buffer.Skip(name, last)", "_, _ = name, last", "times",
		},
		{
			"offsets are committed before results", "producer/atleastonce.go",
			"	if err := a.records.Write(ctx, c.Records); err != nil {",
			"	if c.Offset >= 0 {\n_, _ = a.state.Write(ctx, c.State), a.offset(ctx, c.Offset)\n}\n" +
				"if err := a.records.Write(ctx, c.Records); err != nil {",
			"an answer to each record",
		},
		{
			"a sender chooses the key of what is taught", "pipeline/recall/recall.go",
			"cmp.Or(it.OwnName(), e.Keys[i])", "cmp.Or(it.ItemID, e.Keys[i])", "in force",
		},
	} {
		t.Run(m.name, func(t *testing.T) {
			binary := buildMistaken(t, m.file, m.right, m.wrong)
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

// buildMistaken builds slkstream with a line of a file of this repository replaced.
func buildMistaken(t *testing.T, file, right, wrong string) string {
	dir := t.TempDir()
	path, err := filepath.Abs(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), right) != 1 {
		t.Fatalf("%s has not one place with %q", file, right)
	}
	save := saver(t, dir)
	replaced := save("mistaken.go", strings.Replace(string(source), right, wrong, 1))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "slkstream")
	build := exec.Command("go", "build", "-overlay", save("overlay.json", string(overlay)), "-o", binary, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return binary
}
