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

	"github.com/twmb/franz-go/pkg/kgo"
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
