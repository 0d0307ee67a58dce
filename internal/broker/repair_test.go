package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// A flipped bit on the disk costs the records of its batch and no others, whether it is in a batch's head, its
// records or the index, and the partition goes on at once: what is written later is read, also after another start.
func TestADamagedBatchAloneIsSetAside(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel() // it waits for the disk
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			random := rand.New(rand.NewPCG(seed, 1))
			dir := filepath.Join(t.TempDir(), "data")
			serve := func(log *slog.Logger, use func(*topic.Client)) {
				t.Helper()
				server, err := Serve(dir, 0, log)
				if err != nil {
					t.Fatal(err)
				}
				defer server.Close()
				client, err := topic.Connect(topic.Settings{Brokers: []string{server.Address}})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				use(client)
			}
			written := 0
			write := func(client *topic.Client, batches int) {
				t.Helper()
				for range batches {
					var batch []record.Out
					for range 3 {
						batch = append(batch, record.Out{Topic: "t", Value: fmt.Append(nil, "record ", written)})
						written++
					}
					if err := client.Write(ctx, batch); err != nil {
						t.Fatal(err)
					}
				}
			}
			read := func(client *topic.Client) (n int) {
				t.Helper()
				for r, err := range client.All(ctx, topic.TopicPartition{Topic: "t"}) {
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if want := fmt.Sprint("record ", r.Offset); string(r.Value) != want {
						t.Fatalf("seed %d: at offset %d is %q", seed, r.Offset, r.Value)
					}
					n++
				}
				return n
			}
			serve(slog.New(slog.DiscardHandler), func(client *topic.Client) {
				if err := client.Ensure(ctx, topic.Description{Name: "t", Partitions: 1}); err != nil {
					t.Fatal(err)
				}
				write(client, 30)
			})
			files, err := filepath.Glob(filepath.Join(dir, "partitions", "t-0", []string{"*.dat", "*.dat", "*.idx"}[seed%3]))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			contents, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			// The last batch is left alone: where its length is damaged, nobody can tell it from one that is cut short.
			contents[random.IntN(len(contents)*29/30)] ^= 1 << random.IntN(8)
			if err := os.WriteFile(files[0], contents, 0o600); err != nil {
				t.Fatal(err)
			}
			var log lines
			left := 0
			serve(slog.New(slog.NewTextHandler(&log, nil)), func(client *topic.Client) {
				left = read(client)
				if left < written-3 || left < written && log.Load() == 0 {
					t.Errorf("seed %d: %d of %d records are left, %d lines in the log", seed, left, written, log.Load())
				}
				write(client, 4)
				if n := read(client); n != left+12 {
					t.Errorf("seed %d: %d records, want %d and 12", seed, n, left)
				}
			})
			serve(slog.New(slog.DiscardHandler), func(client *topic.Client) {
				if n := read(client); n != left+12 {
					t.Errorf("seed %d: after another start %d records, want %d", seed, n, left+12)
				}
			})
		})
	}
}
