//go:build unix

package topic

import (
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
)

// A password that came through a named pipe stays as it was read first: nobody writes to the pipe again.
func TestPasswordOfAPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &password{
		file: file, last: "first", log: slog.New(slog.DiscardHandler),
		with: func(s string) (sasl.Mechanism, error) { return plain.Mechanism{Username: "u", Password: s}, nil },
	}
	if _, first, err := p.Start(t.Context()); err != nil || string(first) != "\x00u\x00first" {
		t.Errorf("%q, %v", first, err)
	}
}
