package broker

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// lines counts the lines of a log.
type lines struct{ atomic.Int64 }

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.Add(1)
	return len(p), nil
}

// Bytes that are no request end their connection at once. They take no memory, and the broker goes on.
func TestGarbageEndsItsConnection(t *testing.T) {
	var log lines
	server, err := Serve("", 0, slog.New(slog.DiscardHandler), listenAt("127.0.0.1", slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	flexible := kmsg.NewPtrApiVersionsRequest()
	flexible.Version = 3
	tags := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, flexible, 1)
	head := 4 + 8 + 2 + len("me")
	tags = append(append(tags[:head:head], 0xff, 0xff, 0xff, 0xff, 0x0f), tags[head+1:]...) // four billion tags
	binary.BigEndian.PutUint32(tags, uint32(len(tags)-4))
	body := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, flexible, 1)
	body = append(body[:len(body)-1:len(body)-1], 0xff, 0xff, 0xff, 0xff, 0x0f) // as many in the body
	binary.BigEndian.PutUint32(body, uint32(len(body)-4))
	unknown := append([]byte{0, 0, 0, 16, 0x7f, 0xff}, make([]byte, 14)...)
	garbage := [][]byte{
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		{0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 0},
		{0x80, 0, 0, 0},
		tags, body, unknown,
		{0, 0, 0, 4, 0, 3, 0, 1},
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		b := make([]byte, 64)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		if random.IntN(2) == 0 { // a length that is kept
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		}
		garbage = append(garbage, b)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, b := range garbage {
		c, err := net.Dial("tcp", server.Address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite() // more of it may be announced; an error: the broker has ended the connection
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q: %v", b, err)
		}
		c.Close()
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("garbage took %d bytes", took)
	}
	if n := log.Load(); n != 1 {
		t.Errorf("garbage is logged %d times", n)
	}
	client, err := topic.Connect(topic.Settings{Brokers: []string{server.Address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.Create(ctx, topic.Description{Name: "in", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if err := client.Write(ctx, []record.Out{{Topic: "in", Value: make([]byte, 900_000)}}); err != nil {
		t.Error(err)
	}
}
