package answering

import (
	"context"
	"log/slog"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// However long brokers take to give a stream's memory back, its job does not hang: the watchdog would end a process that
// only waits. What it does with the memory may hang.
func TestReadingBackDoesNotHang(t *testing.T) {
	pool := NewPool(1)
	of := NewOwner(t.Context(), &Settings{Pool: pool}, topic.TopicPartition{}, nil, slog.New(slog.DiscardHandler))
	a := New(of)
	reads, comes, learns := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &Stream{Stream: extension.Stream{Away: func(context.Context) (*stream.Stream, error) {
		close(reads)
		<-comes
		return stream.New("camera"), nil
	}}}
	of.Learners = []extension.Learner{waits{learns}}
	hung := func() bool {
		j, _ := pool.Hung(0)
		return j != nil
	}
	a.Save(s)
	<-reads
	if hung() {
		t.Error("a job hangs whose stream's memory is read back")
	}
	close(comes)
	learns <- struct{}{}
	if !hung() {
		t.Error("what comes after that may hang for ever")
	}
	learns <- struct{}{}
	pool.Close()
}

// waits is a learner that waits in Free.
type waits struct{ until chan struct{} }

func (w waits) Hold(*extension.Stream, record.Position) <-chan struct{} { return nil }

func (w waits) Learned(*extension.Stream, *extension.Answered) {}

func (w waits) Free(*extension.Stream) {
	<-w.until
	<-w.until
}
