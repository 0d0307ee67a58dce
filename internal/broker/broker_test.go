package broker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func open(t *testing.T, dir string) *Broker {
	t.Helper()
	b, err := Open(context.Background(), dir, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, address, value string) {
	t.Helper()
	w := &kafka.Writer{
		Addr: kafka.TCP(address), Topic: "t", RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		AllowAutoTopicCreation: true, Transport: &kafka.Transport{}, MaxAttempts: 50,
	}
	defer w.Transport.(*kafka.Transport).CloseIdleConnections()
	defer w.Close()
	if err := w.WriteMessages(context.Background(),
		kafka.Message{Key: []byte("k"), Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, address string) (n int64) {
	t.Helper()
	for p := range 4 {
		conn, err := kafka.DialLeader(context.Background(), "tcp", address, "t", p)
		if err != nil {
			t.Fatal(err)
		}
		end, err := conn.ReadLastOffset()
		conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		n += end
	}
	return n
}

// The first process serves, the second connects, and when the first stops the second serves the same data
// at the same address.
func TestOneServesAndTheNextTakesOver(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	second := open(t, dir)
	defer second.Close()
	if !first.Serving() || second.Serving() || first.Address() != second.Address() {
		t.Fatalf("first serves %v at %s, second %v at %s", first.Serving(), first.Address(), second.Serving(),
			second.Address())
	}
	write(t, second.Address(), "one")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !second.Serving(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody took over")
		}
	}
	write(t, second.Address(), "two")
	if n := count(t, first.Address()); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

// child serves a directory until it is killed; see TestKilledKeepsEverything.
func child(dir string) {
	b, err := Open(context.Background(), dir, "", quiet)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(b.Address())
	select {}
}

// Acknowledged records survive a kill -9, and the killed process leaves no lock behind.
func TestKilledKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	if served := os.Getenv("SLKSTREAM_SERVE_DIRECTORY"); served != "" {
		child(served)
	}
	var want int64
	for round := range 3 {
		serve := exec.Command(os.Args[0], "-test.run=TestKilledKeepsEverything")
		serve.Env = append(os.Environ(), "SLKSTREAM_SERVE_DIRECTORY="+dir)
		out, err := serve.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		var address string
		if _, err := fmt.Fscan(out, &address); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			write(t, address, fmt.Sprint(round, i))
			want++
		}
		if err := serve.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		serve.Wait()
	}
	b := open(t, dir)
	defer b.Close()
	if n := count(t, b.Address()); n != want {
		t.Errorf("%d records, want %d", n, want)
	}
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), file, "", quiet); err == nil {
		t.Error("a file serves as a directory")
	}
}

// Only its user can enter the broker's folder, one that an older version left open too.
func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "embedded")
	if err := os.MkdirAll(filepath.Join(dir, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := Open(context.Background(), dir, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.Address(), "v")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// The broker listens on the configured host, and advertises it to clients.
func TestListenHost(t *testing.T) {
	b, err := Open(context.Background(), t.TempDir(), "localhost:0", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if host, _, err := net.SplitHostPort(b.Address()); err != nil || host != "127.0.0.1" && host != "::1" {
		t.Errorf("listens at %s, %v", b.Address(), err)
	}
	second, err := Open(context.Background(), t.TempDir(), "127.0.0.2:0", quiet)
	if err != nil {
		t.Skip("this machine has no second loopback address: ", err)
	}
	defer second.Close()
	if write(t, second.Address(), "v"); !strings.HasPrefix(second.Address(), "127.0.0.2:") {
		t.Errorf("listens at %s", second.Address())
	}
	for _, listen := range []string{"nowhere", "localhost:many"} {
		if b, err := Open(context.Background(), t.TempDir(), listen, quiet); err == nil {
			b.Close()
			t.Errorf("%s is taken", listen)
		}
	}
}

// Client telemetry is not advertised, because nothing here reads it.
func TestNoTelemetryIsAdvertised(t *testing.T) {
	server, err := Serve("", 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(server.Address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(t.Context(), client)
	if err != nil || len(answer.ApiKeys) < 30 {
		t.Fatal(err, len(answer.ApiKeys))
	}
	for _, k := range answer.ApiKeys {
		if k.ApiKey == kmsg.GetTelemetrySubscriptions.Int16() || k.ApiKey == kmsg.PushTelemetry.Int16() {
			t.Errorf("%s is advertised", kmsg.NameForKey(k.ApiKey))
		}
	}
}

// At most one process serves a directory, even if something is in the way of the address file: one that
// cannot write the address does not continue to serve without the lock.
func TestOneWriterWhateverLiesInTheFolder(t *testing.T) {
	for _, inTheWay := range []string{addressFile + ".new", addressFile} {
		t.Run(inTheWay, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, inTheWay, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			served := map[string]bool{}
			for range 3 {
				b, err := Open(t.Context(), dir, "", slog.New(slog.DiscardHandler))
				if err != nil {
					if lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0); err == nil {
						defer lock.Close()
						if got, err := tryLock(lock); !got || err != nil {
							t.Error("the lock is held by nobody who serves")
						}
						lock.Close()
					}
					continue
				}
				defer b.Close()
				served[b.Address()] = true
			}
			if inTheWay != addressFile && len(served) == 0 {
				t.Error("nobody serves")
			}
			if len(served) > 1 {
				t.Errorf("%d brokers serve one folder", len(served))
			}
		})
	}
}
