package broker

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// While the disk is full nothing is acknowledged. A producer with sequence numbers that sends its batch again
// when there is room has it written, once.
func TestAFullDiskRefusesRecords(t *testing.T) {
	var log bytes.Buffer // written by the broker's goroutine, read once it is closed
	s, err := Serve("", 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	startRoom(s.Cluster, func() (int64, bool) {
		if asked.Add(1) <= 3 {
			return leastFree - 1, true
		}
		return leastFree, true
	}, slog.New(slog.NewTextHandler(&log, nil)))
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.Address), kgo.AllowAutoTopicCreation(),
		kgo.DefaultProduceTopic("t"), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(context.Background(), kgo.StringRecord("one")).FirstErr(); err != nil {
		t.Error(err)
	}
	producer.Close()
	if n := count(t, s.Address); n != 1 || asked.Load() != 4 {
		t.Errorf("%d records are written, after %d tries", n, asked.Load())
	}
	s.Close()
	if lines := strings.Count(log.String(), "the disk is full"); lines != 1 {
		t.Errorf("%d lines in the log: %s", lines, &log)
	}
}
