package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

func TestCheck(t *testing.T) {
	dir, client := embedded(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	line := func(more string) []string {
		return strings.Fields("check --in embeddings --out results --labels labels --embedded-dir " + dir + " " +
			more)
	}
	code, out, _ := runLine(t, line("")...)
	for _, want := range []string{
		"FAULT topic embeddings does not exist (--in, --create)",
		"FAULT topic results does not exist (--out, --create)",
		"FAULT topic results-dead does not exist (--dead, --create)",
		"FAULT topic slkstream-state does not exist (--state, --create)",
		"FAULT topic labels does not exist (--labels, --create)",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("nothing made: exit %d, not told: %s", code, want)
		}
	}
	if code, out, messages := runLine(t, line("--create --partitions 3")...); code != exitDone ||
		!strings.Contains(out, "topic embeddings: 3 partitions, 1 replicas, made now") {
		t.Fatalf("--create: exit %d:\n%s%s", code, out, messages)
	}
	if code, out, messages := runLine(t, line("")...); code != exitDone || strings.Contains(out, "made now") {
		t.Fatalf("after --create: exit %d:\n%s%s", code, out, messages)
	}

	for _, d := range []topic.Description{
		{Name: "short", Partitions: 1, Settings: topic.StateSettings()},
		{Name: "plain", Partitions: 3},
		{Name: "folded", Partitions: 3, Settings: topic.StateSettings()},
	} {
		if err := client.Ensure(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	scattered := []record.Out{{Topic: "labels", Partition: 0, Key: []byte("a"), Value: []byte("{}")}}
	for p := range int32(3) {
		scattered = append(scattered, record.Out{
			Topic: "embeddings", Partition: p, Key: []byte("k"),
			Value: []byte(`{"vector":[1,2],"stream":"cam"}`),
		})
	}
	scattered = append(scattered, record.Out{Topic: "embeddings", Partition: 0, Value: []byte("rubbish")})
	if err := client.Write(ctx, scattered); err != nil {
		t.Fatal(err)
	}
	code, out, _ = runLine(
		t,
		strings.Fields(
			"check --in embeddings --out folded --dead results-dead --labels labels --state short --review plain --embedded-dir "+dir,
		)...)
	for _, want := range []string{
		"FAULT topic folded has cleanup.policy compact: records of one key would replace each other, it must not be compact (--out)",
		"FAULT topic short has 1 partitions, the input 3: it needs as many (--state)",
		"FAULT labels topic labels: 1 records are no examples",
		`warn  stream "cam" of embeddings is in partitions `,
		"librdkafka, also in Python, needs partitioner=murmur2_random, kafka-go a Murmur2Balancer, Sarama a partitioner by murmur2",
		"warn  1 of the latest 4 records of embeddings cannot be read",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, not told: %s", code, want)
		}
	}
	code, out, _ = runLine(
		t,
		strings.Fields("check --in embeddings --out results --state plain --format f32 --dimension 7 --embedded-dir "+dir)...)
	for _, want := range []string{
		"FAULT topic plain has cleanup.policy delete: it must be compact, or what it holds is deleted; --compact sets it (--state)",
		"FAULT none of the latest 4 records of embeddings can be read",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, not told: %s", code, want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// saver returns a function that writes a file into a folder and returns its path.
func saver(t *testing.T, folder string) func(name, text string) string {
	return func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// Labelled examples of another dimension than the feed's cannot be used.
func TestCheckTellsExamplesThatDoNotFit(t *testing.T) {
	folder := t.TempDir()
	save := saver(t, folder)
	feed := save("feed.jsonl", `{"id":"a","vector":[1,2]}`+"\n")
	fits := save("fits.jsonl", `{"id":"b","label":"anna","vector":[1,2]}`+"\n")
	other := save("other.jsonl", `{"id":"c","label":"bob","vector":[1,2,3]}`+"\n")
	own := " --embedded-dir " + filepath.Join(folder, "broker")
	check := "check --in embeddings --out results --labels labels --create --support " + fits + own
	for _, line := range []string{
		check, "feed --out embeddings --input " + feed + own, "teach --labels labels " + fits + own, check,
	} {
		code, out, messages := runLine(t, strings.Fields(line)...)
		if code != exitDone || strings.Contains(out, "warn") {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, messages)
		}
	}
	runLine(t, strings.Fields("teach --labels labels "+other+own)...)
	code, out, _ := runLine(t, strings.Fields(strings.Replace(check, fits, other, 1))...)
	for _, want := range []string{
		"warn  1 of the 2 examples of labels topic labels have another dimension than the latest records",
		"FAULT support: none of the 1 labelled examples of ",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, not told: %s\n%s", code, want, out)
		}
	}
}

// The latest records of an input are shown as map shows them, and an input whose every item has a label, as where a detector's
// label is taken for one, is warned of: nothing of it would be answered.
func TestCheckTellsThatAllIsLabelled(t *testing.T) {
	folder := t.TempDir()
	save := saver(t, folder)
	feed := save("feed.jsonl", strings.Repeat(`{"kind":"person","vector":[1,2]}`+"\n", 200))
	own := " --embedded-dir " + filepath.Join(folder, "broker")
	check := "check --in embeddings --out results --create --partitions 1 --label-field "
	for _, line := range []string{check + "label", "feed --out embeddings --key cam --attributes-field kind --label-field - --input " + feed} {
		if code, out, messages := runLine(t, strings.Fields(line+own)...); code != exitDone {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, messages)
		}
	}
	for field, labelled := range map[string]bool{"label": false, "attributes": true} {
		_, out, _ := runLine(t, strings.Fields(check+field+own)...)
		if !strings.Contains(out, "the latest 200 records hold 1 streams; of 200 items have vector 200") {
			t.Errorf("%s: %s", field, out)
		}
		if warned := strings.Contains(out, "warn  input embeddings: each of these items has a label"); warned != labelled {
			t.Errorf("%s: warned %t\n%s", field, warned, out)
		}
	}
}

// A missing right is found before the stage has to write.
func TestCheckTellsMissingRights(t *testing.T) {
	allow := func(operation kmsg.ACLOperation, resource kmsg.ACLResourceType, name string) kfake.ACL {
		return kfake.ACL{
			Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral,
			Operation: operation, Allow: true,
		}
	}
	server, err := broker.Serve("", 0, slog.New(slog.DiscardHandler), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "root", "secret"),
		kfake.User("PLAIN", "camera", "secret",
			allow(kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic, "embeddings"),
			allow(kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic, "results"),
			allow(kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic, "results-dead"),
			allow(kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic, "slkstream-state")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := "check --in embeddings --out results --brokers " + server.Address +
		" --sasl plain --sasl-password-file " + password + " --sasl-user "
	if code, out, messages := runLine(t, strings.Fields(line+"root --create")...); code != exitDone {
		t.Fatalf("--create: exit %d:\n%s%s", code, out, messages)
	}
	code, out, _ := runLine(t, strings.Fields(line+"camera")...)
	for _, want := range []string{
		"FAULT topic results: no right to write it (--out, --sasl-user)",
		"FAULT topic slkstream-state: no right to read it (--state, --sasl-user)",
		"warn  topic results: no right to see its settings",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, not told: %s:\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "FAULT topic embeddings") || strings.Contains(out, "FAULT topic results-dead") {
		t.Errorf("rights that are there are missed:\n%s", out)
	}
}

// Topics that check makes have no leaders at first: it waits for them, and warns of none.
func TestCheckWaitsForLeaders(t *testing.T) {
	server := brokertest.Embedded(t)
	left := map[string]int{}
	var told atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, of := range r.(*kmsg.ListOffsetsRequest).Topics {
			if left[of.Topic]++; left[of.Topic] > 3 {
				return nil, nil, false
			}
			one := kmsg.ListOffsetsResponseTopic{Topic: of.Topic}
			for _, p := range of.Partitions {
				code := kerr.LeaderNotAvailable.Code
				one.Partitions = append(one.Partitions, kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, ErrorCode: code})
			}
			answer.Topics = append(answer.Topics, one)
			told.Add(1)
		}
		return answer, nil, true
	})
	line := "check --in embeddings --out results --labels labels --create --brokers " + server.Address
	code, out, messages := runLine(t, strings.Fields(line)...)
	if all := out + messages; code != exitDone || told.Load() < 3*5 || strings.Contains(all, "WARN") ||
		strings.Contains(all, "warn ") {
		t.Errorf("exit %d, %d times without a leader:\n%s", code, told.Load(), all)
	}
}

// Brokers that do not answer are reported as one fault, within the time limit.
func TestCheckWithoutBrokers(t *testing.T) {
	code, out, messages := runLine(t, strings.Fields("check --in a --out b --brokers 127.0.0.1:1")...)
	if code != exitFailed || !strings.Contains(out, "FAULT brokers 127.0.0.1:1:") ||
		!strings.Contains(messages, "faults found: 1") {
		t.Errorf("exit %d: %s%s", code, out, messages)
	}
}
