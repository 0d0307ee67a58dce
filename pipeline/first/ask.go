package first

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// ErrNoStream is returned for a stream that this process does not remember: it is another process's, or
// none of its episodes was answered yet.
var ErrNoStream = errors.New("this process does not remember the stream")

// ErrBusy is returned when there is no memory to answer another stream at once.
var ErrBusy = errors.New("too many streams are asked at once")

// Ask answers vectors of one moment by what is known of a stream. They do not enter it. The error wraps ErrNoStream,
// ErrBusy, or stream.ErrItem for vectors that no stream of the dimension holds.
func (p *Process) Ask(s *extension.Stream, vectors [][]float32) ([]stream.Answer, error) {
	first := p.known(s)
	items := make([]stream.Item, len(vectors))
	for i := range items {
		items[i] = stream.Item{Vector: vectors[i], Model: s.Key.Model}
	}
	if err := p.acquaint(first, &items[0]); err != nil {
		return nil, err
	}
	first.mutex.Lock()
	defer first.mutex.Unlock()
	if first.knows == nil {
		return nil, ErrBusy
	}
	answers := first.now.Ask(items)
	if answers == nil {
		return nil, fmt.Errorf("%w: the vectors are not of the stream's dimension, or hold zeros or no numbers",
			stream.ErrItem)
	}
	return answers, nil
}

// acquaint makes first answers know their stream, if memory allows it.
func (p *Process) acquaint(first *known, like *stream.Item) error {
	if known, _ := first.ask(); known {
		return nil
	}
	first.of.Lock()
	defer first.of.Unlock()
	if err := p.bring(first.of); err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	switch d := first.of.Memory.Dimension(); {
	case d == 0:
		return fmt.Errorf("%q: %w", first.of.Key.Name, ErrNoStream)
	case d != len(like.Vector):
		return fmt.Errorf("%w: dimension %d, not the stream's %d", stream.ErrItem, len(like.Vector), d)
	}
	return p.learn(first, like, nil, nil)
}

// following has what answers the vectors that are asked follow the streams of a partition.
type following struct {
	extension.Nothing
	process *Process
	log     *slog.Logger
}

// Following returns the extension of a partition whose items get no first answers.
func (p *Process) Following(log *slog.Logger) extension.Extension {
	return &following{process: p, log: log}
}

// Hold implements extension.Learner: nothing is on its way that results would wait for.
func (f *following) Hold(*extension.Stream, record.Position) <-chan struct{} { return nil }

// Learned implements extension.Learner.
func (f *following) Learned(s *extension.Stream, e *extension.Answered) {
	f.process.learned(s, e, f.log)
}

// Free implements extension.Learner.
func (f *following) Free(*extension.Stream) {}
