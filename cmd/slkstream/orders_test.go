package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Pauses are listed until they are resumed, a skipped record goes to the dead letters, and invalid
// orders are refused.
func TestPauseResumeSkip(t *testing.T) {
	dir, client := embedded(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.Create(ctx, topic.Description{Name: "feed", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	sent := record.Out{Topic: "feed", Partition: 0, Key: []byte("cam"), Value: []byte("xyz")}
	if err := client.Write(ctx, []record.Out{sent}); err != nil {
		t.Fatal(err)
	}
	say := func(want int, line string) string {
		t.Helper()
		args := append(strings.Fields(line), "--embedded-dir", dir, "--log-level", "error")
		code, out, messages := runLine(t, args...)
		if code != want {
			t.Fatalf("%s: exit %d: %s", line, code, messages)
		}
		return out + messages
	}
	list := func() string { return say(exitDone, "labels list --labels labels") }
	say(exitDone, "pause --stream cam --labels labels --by kim")
	say(exitDone, "pause --partition 0 --in feed --labels labels")
	say(exitDone, "pause --labels labels")
	say(exitDone, "skip --id feed/0/0 --labels labels --out named --by kim")
	for _, want := range []string{"stream cam", "partition feed/0", "everything", "feed/0/0", "kim"} {
		if found := list(); !strings.Contains(found, want) {
			t.Errorf("no %q in\n%s", want, found)
		}
	}
	shown := say(exitDone, "dead show --out named")
	if !strings.Contains(shown, "skipped by kim") || !strings.Contains(shown, "xyz") {
		t.Errorf("the skipped record is not kept:\n%s", shown)
	}
	say(exitDone, "resume --stream cam --labels labels")
	say(exitFailed, "resume --stream cam --labels labels")
	if found := list(); strings.Contains(found, "stream cam") || !strings.Contains(found, "everything") {
		t.Errorf("one pause taken back leaves\n%s", found)
	}
	say(exitDone, "resume --labels labels")
	if found := list(); strings.Contains(found, "everything") || !strings.Contains(found, "skip") {
		t.Errorf("all pauses taken back leave\n%s", found)
	}
	for _, line := range []string{
		"pause --stream a --partition 1 --labels labels", "pause --in feed --labels labels", "pause --stream a",
		"skip --labels labels --out named", "skip --id feed/0 --labels labels --out named",
		"skip --id feed/0/0 --labels labels",
	} {
		say(exitUsage, line)
	}
	say(exitFailed, "skip --id feed/0/1 --labels labels --out named")
	say(exitFailed, "skip --id none/0/0 --labels labels --out named")
}
