package broker

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Transactions that were open when the broker was killed are aborted for good, and those that the same
// producer commits later are visible.
func TestATransactionCutShortByAKillIsGivenUp(t *testing.T) {
	if served := os.Getenv("SLKSTREAM_SERVE_TRANSACTIONS"); served != "" {
		child(served)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	var want []string
	for round := range 3 {
		serve := exec.Command(os.Args[0], "-test.run=TestATransactionCutShortByAKillIsGivenUp")
		serve.Env = append(os.Environ(), "SLKSTREAM_SERVE_TRANSACTIONS="+dir)
		out, err := serve.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		address, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		address = strings.TrimSpace(address)
		c, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID("one"), kgo.DefaultProduceTopic("t"),
			kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.MaxVersions(kversion.V3_0_0()))
		if err != nil {
			t.Fatal(err)
		}
		write := func(text string) {
			t.Helper()
			if err := c.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := c.ProduceSync(ctx, &kgo.Record{Value: []byte(text)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		committed := fmt.Sprint("committed ", round)
		write(committed)
		if err := c.EndTransaction(ctx, kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		want = append(want, committed)
		write(fmt.Sprint("open ", round))
		if err := serve.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		serve.Wait()
		c.CloseAllowingRebalance()
	}
	b := open(t, dir)
	defer b.Close()
	if known := b.server.recovery.known; len(known) > 0 {
		t.Errorf("pairs that were given up are kept: %v", known)
	}
	if info, err := b.server.recovery.journal.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("the journal has %d bytes: %v", info.Size(), err)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(b.Address()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for quiet := 0; quiet < 3; { // extra records would be as wrong as missing ones
		poll, stop := context.WithTimeout(ctx, 500*time.Millisecond)
		before := len(got)
		c.PollFetches(poll).EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		stop()
		if len(got) == before {
			quiet++
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("a reader of committed records sees %q, want %q", got, want)
	}
}

// TestAPairThatCannotBeJournaledIsRefused: on a full disk a transaction does not begin, so that a kill cuts
// none short that no journal names. Once there is room, the same request goes through, and what was cut short
// spoils no later line.
func TestAPairThatCannotBeJournaledIsRefused(t *testing.T) {
	b := open(t, t.TempDir())
	defer b.Close()
	r := b.server.recovery
	path := r.journal.Name()
	if err := r.journal.Close(); err != nil {
		t.Fatal(err)
	}
	ask := kmsg.NewPtrAddPartitionsToTxnRequest()
	ask.ProducerID = 7
	of := kmsg.NewAddPartitionsToTxnRequestTopic()
	of.Topic, of.Partitions = "t", []int32{3}
	ask.Topics = append(ask.Topics, of)
	for range 2 { // not only the first time
		answer, err, handled := r.added(ask)
		if err != nil || !handled {
			t.Fatalf("a pair that no journal names: %v, handled %t", err, handled)
		}
		partition := answer.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0]
		if !kerr.IsRetriable(kerr.ErrorForCode(partition.ErrorCode)) {
			t.Fatalf("refused with code %d, which nobody tries again", partition.ErrorCode)
		}
	}
	if err := os.WriteFile(path, []byte("7 t"), 0o600); err != nil { // as far as it came
		t.Fatal(err)
	}
	var err error
	if r.journal, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, handled := r.added(ask); handled {
		t.Error("refused, where there is room again")
	}
	again := &recovery{known: map[written]bool{}}
	killed, err := again.open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.journal.Close()
	if !killed || len(again.known) != 1 || !again.known[written{7, "t", 3}] {
		t.Errorf("the journal has %v, killed %t", again.known, killed)
	}
}
