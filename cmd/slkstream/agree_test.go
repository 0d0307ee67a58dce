package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// The settings in which processes agree are those that answers depend on: what a process may have to itself does not
// make it differ, and files are compared by what they hold, wherever they lie.
func TestAgreed(t *testing.T) {
	c := config.Default("run")
	c.Topics.In, c.Topics.Group, c.Kafka.ClientID, c.Listen.Address = []string{"a"}, "g", "me", ":1"
	c.Memory.Budget, c.Memory.Recent = 1<<30, 1<<20
	if got, err := agreed(c, nil); err != nil || len(got) != 0 {
		t.Errorf("a process of its own: %v, %v", got, err)
	}
	c.Topics.Labels, c.Stage.EpisodeSize, c.Memory.Warm = "names", 7, false
	var files []string
	for _, name := range []string{"one", "two"} {
		files = append(files, filepath.Join(t.TempDir(), name))
		if err := os.WriteFile(files[len(files)-1], []byte("tau: 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	support := []taught.Example{{Label: "anna", Vector: []float32{1, 2}}}
	c.Solver.File = files[0]
	got, err := agreed(c, support)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"labels": "names", "episode-size": "7", "warm": "false"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	c.Solver.File = files[1]
	if again, err := agreed(c, support); err != nil || again["solver"] != got["solver"] || again["support"] != got["support"] {
		t.Errorf("the same files: %v, %v, %v", again, got, err)
	}
	support[0].Vector = []float32{1, 3}
	if err := os.WriteFile(files[1], []byte("tau: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := agreed(c, support); err != nil || again["solver"] == got["solver"] || again["support"] == got["support"] {
		t.Errorf("other files: %v, %v, %v", again, got, err)
	}
}
