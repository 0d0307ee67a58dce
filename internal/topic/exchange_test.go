package topic

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// slow is a connection whose answer comes in small parts. Each takes a second of the time that it counts.
type slow struct {
	net.Conn
	answer   io.Reader
	now      time.Duration
	deadline time.Duration
}

func (s *slow) SetDeadline(t time.Time) error {
	s.deadline = s.now + time.Until(t)
	return nil
}

func (s *slow) Write(b []byte) (int, error) { return len(b), nil }

func (s *slow) Read(b []byte) (int, error) {
	if s.now += time.Second; s.now > s.deadline {
		return 0, &net.OpError{Op: "read", Err: io.ErrNoProgress}
	}
	return s.answer.Read(b[:min(len(b), 64<<10)])
}

// A large answer may take as long as it takes, while it comes: with a limit for the whole, a link that is too
// slow for it would bring nothing, however often the request is repeated.
func TestAnAnswerMayBeSlow(t *testing.T) {
	want := bytes.Repeat([]byte("x"), 8<<20)
	answer := binary.BigEndian.AppendUint32(nil, uint32(len(want)+4))
	answer = binary.BigEndian.AppendUint32(answer, correlation)
	conn := &slow{answer: bytes.NewReader(append(answer, want...))}
	got, err := exchange(t.Context(), conn, make([]byte, 8), nil, 30*time.Second)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	conn = &slow{answer: conn, deadline: time.Hour}
	conn.answer = bytes.NewReader(answer[:6]) // and no more
	if _, err := exchange(t.Context(), conn, make([]byte, 8), nil, 30*time.Second); err == nil {
		t.Error("an answer that does not come is no error")
	}
}
