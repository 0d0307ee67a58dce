package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Dead letters are listed and explained by reason, time and stream, and replayed to the partition they came
// from, once.
func TestDeadLetters(t *testing.T) {
	dir, client := embedded(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for name, partitions := range map[string]int{"feed": 3, "named-dead": 2} {
		if err := client.Create(ctx, topic.Description{Name: name, Partitions: partitions}); err != nil {
			t.Fatal(err)
		}
	}
	letter := func(offset int64, key, value, reason string, limit int) record.Out {
		return record.DeadLetter("named-dead", &record.Raw{
			Topic: "feed", Partition: 1, Offset: offset, Key: []byte(key), Value: []byte(value), Time: time.Now(),
			Headers: []record.Header{{Key: "content-type", Value: []byte("application/json")}},
		}, reason, limit)
	}
	if err := client.Write(ctx, []record.Out{
		letter(4, "cam-1", `{"vector":[1,2]}`, "the vector has dimension 2, not 3", 0),
		letter(5, "cam-1", `{"vector":[1,2,3,4]}`, "the vector has dimension 4, not 3", 0),
		letter(6, "k", `{"stream":"cam-2","vector":[0,0,0]}`, "the vector is zero", 0),
		letter(7, "cam-3", `{"vector":[1,2,3,4,5]}`, "the vector has dimension 5, not 3", 5),
	}); err != nil {
		t.Fatal(err)
	}
	dead := func(want int, args ...string) string {
		t.Helper()
		code, out, messages := runLine(t, append([]string{
			"dead", args[0], "--embedded-dir", dir, "--log-level",
			"error",
		}, args[1:]...)...)
		if code != want {
			t.Fatalf("dead %v: exit %d: %s", args, code, messages)
		}
		return out + messages
	}
	list := dead(exitDone, "list", "--out", "named")
	for _, want := range []string{"feed/1/4", "feed/1/7", "cam-2", "cut", "LETTERS", "3        "} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	for _, c := range []struct {
		args  string
		lines int
	}{{"--reason ZERO", 1}, {"--stream cam-1", 2}, {"--stream cam-2", 1}, {
		"--since 1h",
		4,
	}, {"--since 2030-01-01T00:00:00Z", 0}, {"--count 2", 2}} {
		out := dead(exitDone, append([]string{"list", "--dead", "named-dead", "--json"},
			strings.Fields(c.args)...)...)
		if n := strings.Count(out, "\n"); n != c.lines {
			t.Errorf("%s: %d lines\n%s", c.args, n, out)
		}
	}
	if show := dead(exitDone, "show", "--out", "named", "--reason", "dimension 2"); !strings.Contains(show,
		"content-type: application/json") || !strings.Contains(show, "to do   the sender changed its embedder") {
		t.Error(show)
	}
	if out := dead(exitDone, "replay", "--out", "named", "--reason", "dimension",
		"--dry-run"); !strings.Contains(out, "2 to be replayed, 0 replayed before, 1 cut") {
		t.Error(out)
	}
	if out := dead(exitDone, "replay", "--out", "named", "--reason", "dimension",
		"--rate", "1000"); !strings.Contains(out,
		"2 replayed, 0 replayed before, 1 cut") {
		t.Error(out)
	}
	if out := dead(exitDone, "replay", "--out", "named"); !strings.Contains(out,
		"1 replayed, 2 replayed before, 1 cut") {
		t.Error(out)
	}
	if out := dead(exitDone, "list", "--out", "named"); strings.Count(out, "  replayed  ") != 3 {
		t.Error(out)
	}
	batch, err := client.NewReader(topic.ReaderSettings{Topic: "feed", Partition: 1}).Read(ctx)
	if err != nil || len(batch.Records) == 0 {
		t.Fatal(err, batch)
	}
	r := &batch.Records[0]
	id, _ := r.Header(record.IDHeader)
	kind, _ := r.Header("content-type")
	if _, kept := r.Header(record.ErrorHeader); kept || string(id) != "feed/1/4" ||
		string(kind) != "application/json" || string(r.Value) != `{"vector":[1,2]}` || string(r.Key) != "cam-1" {
		t.Errorf("replayed as %s: %s %v", r.Key, r.Value, r.Headers)
	}
	if out := dead(exitUsage, "list"); !strings.Contains(out, "dead is not set, nor is out") {
		t.Error(out)
	}
	if out := dead(exitUsage, "list", "--out", "named", "--since", "yesterday"); !strings.Contains(out,
		"since is yesterday") {
		t.Error(out)
	}
	if out := dead(exitFailed, "list", "--out", "other"); !strings.Contains(out,
		"topic other-dead does not exist") {
		t.Error(out)
	}
}

// A topic without dead letters, or without such ones, says so: an empty output could be a fault.
func TestNoSuchDeadLetters(t *testing.T) {
	dir, client := embedded(t)
	if err := client.Ensure(t.Context(), topic.Description{Name: "named-dead", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"list", "show"} {
		code, _, messages := runLine(t, "dead", command, "--out", "named", "--embedded-dir", dir)
		if says := "there are no such dead letters\" topic=named-dead letters=0"; code != exitDone ||
			!strings.Contains(messages, says) {
			t.Errorf("dead %s: exit %d, no %s in %s", command, code, says, messages)
		}
	}
}
