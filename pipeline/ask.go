package pipeline

import (
	"fmt"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/now"
	"github.com/slkstream/slkstream/solver/stream"
)

// live returns a stream of the partitions that this process owns. model "" is that of records that name none.
func (s *Stage) live(name, model string) (*liveStream, error) {
	if model == "" {
		model = s.options.Decode.Model
	}
	live, known := s.remembered.Load(record.Stream{Name: name, Model: model})
	if !known {
		return nil, fmt.Errorf("%q: %w", name, now.ErrNoStream)
	}
	return live.(*liveStream), nil
}

// announce makes the streams of a partition that was claimed known to the process.
func (p *partition) announce() {
	for _, s := range p.answering.streams {
		p.stage.remembered.Store(s.Key, s)
	}
}

// withdraw takes the streams of a partition that is given up from the process.
func (p *partition) withdraw() {
	for _, s := range p.answering.streams {
		p.drop(s)
	}
	p.stage.watch.Streams.Release(p.TopicPartition)
}

// drop takes a stream from the process.
func (p *partition) drop(s *liveStream) {
	p.stage.remembered.CompareAndDelete(s.Key, s) // its key may have another by now
	p.stage.first.Release(&s.Stream)
}

// Ask answers vectors of one moment by what this process knows of a stream. model is their
// embedder; "": the one of records that name none. They do not enter the stream. The error wraps now.ErrNoStream,
// now.ErrBusy, or stream.ErrItem for vectors that no stream of the dimension holds.
func (s *Stage) Ask(name, model string, vectors [][]float32) ([]stream.Answer, error) {
	live, err := s.live(name, model)
	if err != nil {
		return nil, err
	}
	defer func() {
		if held, _ := s.remembered.Load(live.Key); held != live { // the stream was given up meanwhile
			s.first.Release(&live.Stream)
		}
	}()
	return s.first.Ask(&live.Stream, vectors)
}
