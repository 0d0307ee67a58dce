package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
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
	if code := execute(ctx, args, &bytes.Buffer{}, &messages); code != exitDone {
		t.Errorf("exit %d: %s", code, messages.String())
	}
}

// An empty file of examples is reported: the stage would answer without them, and nothing would say why.
func TestSupportWithoutExamplesIsReported(t *testing.T) {
	var log bytes.Buffer
	c := &call{Config: new(config.Config), Log: slog.New(slog.NewTextHandler(&log, nil))}
	c.Config.Stage.Support = []string{"empty.jsonl"}
	if err := checkStart(t.Context(), c, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "support=empty.jsonl") {
		t.Error(log.String())
	}
}
