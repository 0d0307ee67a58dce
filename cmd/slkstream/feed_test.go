package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// embedded serves an embedded broker for the commands of a test and returns its folder and a client.
func embedded(t *testing.T) (dir string, client *topic.Client) {
	t.Helper()
	dir = t.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	b, err := broker.Open(context.Background(), dir, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	client, err = topic.Connect(topic.Settings{Brokers: []string{b.Address()}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, client
}

// records reads want records from all partitions of a topic.
func records(t *testing.T, client *topic.Client, name string, want int) []record.Raw {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	partitions, err := client.Partitions(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	readers := make([]*topic.Reader, partitions)
	for p := range readers {
		readers[p] = client.NewReader(topic.ReaderSettings{
			Topic: name, Partition: int32(p),
			MaxWait: 500 * time.Millisecond,
		})
	}
	var all []record.Raw
	for p := 0; len(all) < want; p = (p + 1) % partitions {
		batch, err := readers[p].Read(ctx)
		if err != nil {
			t.Fatalf("%d of %d records of %s: %v", len(all), want, name, err)
		}
		all = append(all, batch.Records...)
	}
	return all
}

// Records are sent no earlier than their rate allows; late ones at once.
func TestPace(t *testing.T) {
	began := time.Unix(100, 0)
	for _, c := range []struct {
		rate    float64
		records int64
		after   time.Duration
		due     time.Duration
	}{
		{0, 1000, 0, 0},
		{10, 5, 0, 500 * time.Millisecond},
		{10, 5, 300 * time.Millisecond, 200 * time.Millisecond},
		{10, 5, time.Second, -500 * time.Millisecond},
	} {
		if due := (pace{c.rate, began}).due(c.records, began.Add(c.after)); due != c.due {
			t.Errorf("%d records at %g a second after %v are due in %v", c.records, c.rate, c.after, due)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := (pace{.001, time.Now()}).wait(ended, 1000); err == nil {
		t.Error("it waited for a quarter of an hour")
	}
}

func TestFeed(t *testing.T) {
	dir, client := embedded(t)
	input, labels, truth := saveBlobs(t, 1200, 8, 3, 1)
	line := "feed --embedded-dir " + dir + " --input " + input + " --labels-file " + labels + " --keys " +
		labels + " --out embeddings"
	const stream = `labels_are_corrected_by="teach --stream cam-7"` // that of all rows
	one := strings.Replace(line, "--keys "+labels+" --out embeddings", "--key cam-7 --out others", 1)
	for line, says := range map[string]bool{line: false, one: true} {
		if code, _, messages := runLine(t, strings.Fields(line)...); code != exitDone || strings.Contains(messages, stream) != says {
			t.Fatalf("%s: exit %d: %s", line, code, messages)
		}
	}
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := records(t, client, "embeddings", len(truth))
	if len(got) != len(truth) {
		t.Errorf("%d records, want %d", len(got), len(truth))
	}
	for i := range got {
		items, err := decoder.Decode(t.Context(), &got[i], nil)
		if err != nil || len(items) != 1 || items[0].Label != string(got[i].Key) || len(items[0].Vector) != 8 {
			t.Fatalf("record %d: %v, %v", i, items, err)
		}
	}
}

// feed keeps its rate, loops until it is stopped, and a stop is no error.
func TestFeedAtARate(t *testing.T) {
	dir, client := embedded(t)
	input, _, _ := saveBlobs(t, 10, 4, 2, 1)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int, 1)
	var messages bytes.Buffer
	began := time.Now()
	go func() {
		done <- execute(ctx, strings.Fields("feed --embedded-dir "+dir+" --input "+input+" --key cam --out embeddings --rate 100 --loop"), &bytes.Buffer{}, &messages)
	}()
	made := topic.Description{Name: "embeddings", Partitions: 4}
	for ; client.Ensure(t.Context(), made) != nil; time.Sleep(10 * time.Millisecond) {
	}
	got := records(t, client, "embeddings", 35)
	if spent := time.Since(began); spent < 300*time.Millisecond {
		t.Errorf("35 records came in %v at 100 a second", spent)
	}
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("exit %d: %s", code, messages.String())
	}
	for _, r := range got {
		if string(r.Key) != "cam" || r.Partition != got[0].Partition {
			t.Errorf("key %s in partition %d", r.Key, r.Partition)
		}
	}
}

func TestTeachCorrectForget(t *testing.T) {
	dir, client := embedded(t)
	examples, ids := filepath.Join(t.TempDir(), "examples.jsonl"), filepath.Join(t.TempDir(), "ids.jsonl")
	for path, content := range map[string]string{
		examples: `{"id":"a","vector":[1,2],"label":"milk"}` + "\n" +
			`{"id":"b","stream":"cam-7","vector":[2,1],"label":"juice"}` + "\n",
		ids: `{"id":"a"}` + "\n" + `{"id":"b","vector":[0,0]}` + "\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"teach " + examples, "teach --stream gate " + examples, "teach --stream cam-7 --forget " + ids} {
		if code, _, messages := runLine(t, strings.Fields(line+" --labels labels --embedded-dir "+dir)...); code != exitDone {
			t.Fatalf("%s: exit %d: %s", line, code, messages)
		}
	}
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range records(t, client, "labels", 6) {
		l, err := decoder.DecodeLabel(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		if l.Teach != nil {
			said = append(said, l.Teach.ItemID+"="+l.Teach.Label+"@"+l.Teach.Stream)
		} else {
			said = append(said, "forget "+l.Forget)
		}
	}
	const first, again = "a=milk@, stream:cam-7/b=juice@cam-7", "stream:gate/a=milk@gate, stream:cam-7/b=juice@cam-7"
	const forgot = "forget stream:cam-7/a, forget stream:cam-7/b" // the second row has no vector
	if got := strings.Join(said, ", "); got != first+", "+again+", "+forgot {
		t.Error(got)
	}
}

// feed, teach and run work together on the embedded broker.
func TestStageEndToEnd(t *testing.T) {
	dir, client := embedded(t)
	input, _, truth := saveBlobs(t, 300, 8, 3, 1)
	rows, labels, _ := saveBlobs(t, 30, 8, 3, 2)
	labelled := config.Default("label")
	labelled.Stage.Support, labelled.Stage.SupportLabels = []string{rows}, labels
	examples, err := readSupport(labelled)
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, e := range examples {
		if err := json.NewEncoder(&lines).Encode(map[string]any{"id": e.ID, "label": e.Label, "vector": e.Vector}); err != nil {
			t.Fatal(err)
		}
	}
	support := filepath.Join(t.TempDir(), "support.jsonl")
	if err := os.WriteFile(support, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, messages := runLine(t, strings.Fields("feed --input "+input+" --key cam --out embeddings --embedded-dir "+dir)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, messages)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int, 1)
	var messages bytes.Buffer
	go func() {
		done <- execute(ctx, strings.Fields("run --in embeddings --out results --listen= --support "+support+" --embedded-dir "+dir), &bytes.Buffer{}, &messages)
	}()
	made := topic.Description{Name: "results", Partitions: 4}
	for ; client.Ensure(t.Context(), made) != nil; time.Sleep(10 * time.Millisecond) {
	}
	wrong := 0
	for _, r := range records(t, client, "results", len(truth)) {
		var result record.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			t.Fatal(err)
		}
		if want := truth[result.Source.Offset]; result.Label != string('0'+rune(want)) {
			wrong++
		}
	}
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("exit %d: %s", code, messages.String())
	}
	if wrong > 3 {
		t.Errorf("%d of %d answers about well parted classes are wrong", wrong, len(truth))
	}
}

func TestTeachRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, row := range map[string]struct{ content, says string }{
		"unnamed.jsonl":  {`{"vector":[1,2],"label":"milk"}`, "line 1 has no id"},
		"nameless.jsonl": {`{"id":"a","vector":[1,2]}`, "line 1 has no label, nor has any other: --label-field says where it is"},
		"only-ids.jsonl": {`{"id":"a","label":"milk"}`, `on the page, or by POST /api/teach {"id","label"}`},
		"broken.jsonl":   {`{"id":"a",`, "line 1"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(row.content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, messages := runLine(t, "teach", path, "--labels", "labels", "--embedded-dir",
			filepath.Join(dir, "none"))
		if code != exitFailed || !strings.Contains(messages, row.says) {
			t.Errorf("%s: exit %d: %s", name, code, messages)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a broker was made for examples that are not good")
	}
	if code, _, messages := runLine(t, "teach", "--labels", "labels"); code != exitUsage {
		t.Errorf("exit %d: %s", code, messages)
	}
}

// Labels or keys that are not as many as the input's rows are refused, in files of any kind.
func TestFeedOfAnotherLength(t *testing.T) {
	dir, _ := embedded(t)
	input, _, _ := saveBlobs(t, 10, 4, 2, 1)
	_, long, _ := saveBlobs(t, 12, 4, 2, 1)
	_, short, _ := saveBlobs(t, 9, 4, 2, 1)
	lines := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(lines, []byte(strings.Repeat(`{"vector":[1,2]}`+"\n", 10)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []string{input, lines} {
		for _, setting := range []string{"labels-file", "keys"} {
			for file, n := range map[string]string{long: "12", short: "9"} {
				code, _, messages := runLine(t, "feed", "--embedded-dir", dir, "--input", rows,
					"--"+setting, file, "--out", "in")
				if code != exitFailed || !strings.Contains(messages, setting+": has "+n+" rows, there are") {
					t.Errorf("%s, --%s of %s rows: exit %d, %s", rows, setting, n, code, messages)
				}
			}
		}
	}
}

// A bad row stops the file behind the rows before it, which are sent; the message says how many, and how to go on.
func TestFeedSaysWhatWasSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	good := `{"vector":[1,2]}` + "\n"
	for bad, says := range map[int]string{0: "", 3: "3 rows were sent", 703: "703 rows were sent"} {
		dir, client := embedded(t)
		rows := strings.Repeat(good, bad) + `{"vector":[0,0]}` + "\n" + good
		if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		numbers := make([]int32, bad+2)
		for i := range numbers {
			numbers[i] = int32(i)
		}
		labels := filepath.Join(t.TempDir(), "labels.npy")
		if err := array.WriteNPYFile(labels, numbers, len(numbers)); err != nil {
			t.Fatal(err)
		}
		code, _, messages := runLine(t, "feed", "--embedded-dir", dir, "--input", path, "--out", "out")
		want := fmt.Sprintf("line %d: the vector is zero", bad+1)
		if says != "" {
			want += "; " + says + ": feed a file of those behind them"
		}
		if code != exitFailed || !strings.Contains(messages, want) || says == "" && strings.Contains(messages, "sent") {
			t.Errorf("exit %d, no %q: %s", code, want, messages)
		}
		whole := []string{"feed", "--embedded-dir", dir, "--input", path, "--out", "out", "--skip-bad", "--labels-file", labels}
		code, _, messages = runLine(t, whole...)
		if code != exitDone || !strings.Contains(messages, "rows that are bad are left out\" rows=1 first=") {
			t.Errorf("--skip-bad: exit %d: %s", code, messages)
		}
		last := ""
		got := records(t, client, "out", 2*bad+1) // the rows before the bad one twice
		for _, r := range got {
			last = string(r.Value)
		}
		want = fmt.Sprintf(`"id":"%d","label":"%d"`, bad+1, bad+1) // the numbers that the last row has in the whole file
		if !strings.Contains(last, want) {
			t.Errorf("%d records, no %s in the last: %s", len(got), want, last)
		}
	}
}
