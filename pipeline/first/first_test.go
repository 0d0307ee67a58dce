package first

import (
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
)

// A settled item leaves the queue, and its results wait for a request on its way that has it, and for no other.
func TestSettledItemsGetNoFirstAnswer(t *testing.T) {
	process := New(Settings{})
	live, other := &extension.Stream{}, &extension.Stream{}
	first := process.known(live)
	process.known(other)
	at := func(offset int64) record.Position { return record.Position{Offset: offset, Object: -1} }
	f := process.Beside(topic.TopicPartition{}, nil)
	f.sending, f.sent = map[*known]record.Position{first: at(7)}, make(chan struct{})
	for _, c := range []struct {
		stream *extension.Stream
		last   int64
		waits  bool
	}{{live, 6, false}, {live, 7, true}, {live, 9, true}, {other, 9, false}, {&extension.Stream{}, 9, false}} {
		if waits := f.Hold(c.stream, at(c.last)) != nil; waits != c.waits {
			t.Errorf("settled up to %d: waits %t", c.last, waits)
		}
	}
	if first.settled != at(9) {
		t.Errorf("settled up to %v", first.settled)
	}
}

// Streams that are quiet make room for others; where none is, there is no room.
func TestMemoryOfFirstAnswers(t *testing.T) {
	var m memory
	asked := func() *known {
		s := new(known)
		s.ask()
		return s
	}
	quiet, busy, next, last := &known{}, asked(), asked(), asked()
	m.most = mostHeld
	if !m.admit(quiet, mostHeld/2) || !m.admit(busy, mostHeld/2) {
		t.Error("there is no room in the beginning")
	}
	if !m.admit(next, 1<<20) || m.bytes != mostHeld/2+1<<20 {
		t.Errorf("%d bytes held", m.bytes)
	}
	if m.admit(last, mostHeld/2) {
		t.Error("there is room where nobody is quiet")
	}
	for _, s := range []*known{next, busy, last, quiet} {
		m.forget(s)
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes held by nobody", m.bytes)
	}
}
