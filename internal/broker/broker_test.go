package broker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func open(t *testing.T, dir string) *Broker {
	t.Helper()
	b, err := Open(context.Background(), dir, 0, quiet)
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
	if err := w.WriteMessages(context.Background(), kafka.Message{Key: []byte("k"), Value: []byte(value)}); err != nil {
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

// The first serves, the second connects, and when the first stops the second serves the same data at the same address.
func TestOneServesAndTheNextTakesOver(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	second := open(t, dir)
	defer second.Close()
	if !first.Serving() || second.Serving() || first.Address() != second.Address() {
		t.Fatalf("first serves %v at %s, second %v at %s", first.Serving(), first.Address(), second.Serving(), second.Address())
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
	b, err := Open(context.Background(), dir, 0, quiet)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(b.Address())
	select {}
}

// What was acknowledged before a kill -9 is there afterwards, and the killed process leaves no lock behind.
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
	if _, err := Open(context.Background(), file, 0, quiet); err == nil {
		t.Error("a file serves as a directory")
	}
}
