package pipeline

import (
	"errors"
	"fmt"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// ErrNoStream is returned for a stream that this process does not remember: it is another process's, or
// none of its episodes was answered yet.
var ErrNoStream = errors.New("this process does not remember the stream")

// ErrBusy is returned when there is no memory to answer another stream at once.
var ErrBusy = errors.New("too many streams are asked at once")

// live returns a stream of the partitions that this process owns. model "" is that of records that name none.
func (s *Stage) live(name, model string) (*liveStream, error) {
	if model == "" {
		model = s.options.Decode.Model
	}
	live, known := s.remembered.Load(record.Stream{Name: name, Model: model})
	if !known {
		return nil, fmt.Errorf("%q: %w", name, ErrNoStream)
	}
	return live.(*liveStream), nil
}

// announce makes the streams of a partition that was claimed known to the process.
func (p *partition) announce() {
	for _, s := range p.answering.streams {
		p.stage.remembered.Store(s.key, s)
	}
}

// withdraw takes the streams of a partition that is given up from the process.
func (p *partition) withdraw() {
	for _, s := range p.answering.streams {
		p.drop(s)
	}
	p.stage.streams.Release(p.TopicPartition)
}

// drop takes a stream from the process.
func (p *partition) drop(s *liveStream) {
	p.stage.remembered.CompareAndDelete(s.key, s) // its key may have another by now
	if first := s.first.Swap(nil); first != nil {
		p.stage.release(first)
	}
}

// Ask answers vectors of one moment by what this process knows of a stream. model is their
// embedder; "": the one of records that name none. They do not enter the stream. It wraps ErrNoStream,
// and stream.ErrItem for vectors that no stream of the dimension holds.
func (s *Stage) Ask(name, model string, vectors [][]float32) ([]stream.Answer, error) {
	live, err := s.live(name, model)
	if err != nil {
		return nil, err
	}
	first := live.known()
	if first == nil {
		return nil, fmt.Errorf("%q: %w", name, ErrNoStream)
	}
	items := make([]stream.Item, len(vectors))
	for i := range items {
		items[i] = stream.Item{Vector: vectors[i], Model: live.key.Model}
	}
	if err := s.acquaint(first, &items[0]); err != nil {
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
func (s *Stage) acquaint(first *firstStream, like *stream.Item) error {
	if known, _ := first.ask(); known {
		return nil
	}
	first.live.working.Lock()
	defer first.live.working.Unlock()
	switch d := first.live.memory.Dimension(); {
	case d == 0:
		return fmt.Errorf("%q: %w", first.live.key.Name, ErrNoStream)
	case d != len(like.Vector):
		return fmt.Errorf("%w: dimension %d, not the stream's %d", stream.ErrItem, len(like.Vector), d)
	}
	return s.learn(first, like, nil, nil)
}
