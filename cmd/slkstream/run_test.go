package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// Stopping a stage during startup is not an error: it has nothing to drain.
func TestStoppedWhileItStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var messages bytes.Buffer
	support := filepath.Join(t.TempDir(), "support.jsonl")
	if err := os.WriteFile(support, []byte(`{"id":"a","label":"cat","vector":[1,2]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"run", "--in", "in", "--out", "out", "--support", support, "--embedded-dir", t.TempDir(),
		"--listen", "",
	}
	if code := execute(ctx, args, nil, &bytes.Buffer{}, &messages); code != exitDone {
		t.Errorf("exit %d: %s", code, messages.String())
	}
}
