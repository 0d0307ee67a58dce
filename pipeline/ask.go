package pipeline

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/solver/stream"
)

// live returns a stream of the partitions that this process owns. model "" is that of records that name none.
func (s *Stage) live(name, model string) (*answering.Stream, error) {
	if model == "" {
		model = s.options.Decode.Model
	}
	live := s.answers.Known.Find(record.StreamID{Name: name, Model: model})
	if live == nil {
		return nil, fmt.Errorf("%q: %w", name, first.ErrNoStream)
	}
	return live, nil
}

// announce makes the streams of a partition that was claimed known to the process.
func (p *partition) announce() {
	for s := range p.answering.All() {
		p.Known.Add(s)
	}
}

// withdraw takes the streams of a partition that is given up from the process.
func (p *partition) withdraw() {
	for s := range p.answering.All() {
		p.drop(s)
	}
	p.stage.watch.Streams.Release(p.TopicPartition)
}

// drop takes a stream from the process.
func (p *partition) drop(s *answering.Stream) {
	p.Known.Drop(s)
	p.stage.firstAnswers.Release(&s.Stream)
}

// Ask answers vectors of one moment by what this process knows of a stream. model is their
// embedder; "": the one of records that name none. They do not enter the stream. The error wraps first.ErrNoStream,
// first.ErrBusy, or stream.ErrItem for vectors that no stream of the dimension holds.
func (s *Stage) Ask(name, model string, vectors [][]float32) ([]stream.Answer, error) {
	live, err := s.live(name, model)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s.answers.Known.Find(live.Key) != live { // the stream was given up meanwhile
			s.firstAnswers.Release(&live.Stream)
		}
	}()
	return s.firstAnswers.Ask(&live.Stream, vectors)
}

// Enter writes vectors, all of one moment, as records to the end of a stream's input partition. It finds the
// stream like Ask: this process must own it, otherwise the error wraps ErrNoStream. The records are treated
// like all others.
func (s *Stage) Enter(ctx context.Context, name, model string, vectors [][]float32) error {
	live, err := s.live(name, model)
	if err != nil {
		return err
	}
	headers := []record.Header{{Key: "content-type", Value: []byte("application/x-f32")}}
	by, header, _ := strings.Cut(s.options.Decode.StreamBy, ":")
	switch by {
	case "field":
		headers = append(headers, record.Header{Key: "stream", Value: []byte(name)})
	case "header":
		headers = append(headers, record.Header{Key: header, Value: []byte(name)})
	}
	if model := live.Key.Model; model != "" {
		headers = append(headers, record.Header{Key: "model", Value: []byte(model)})
	}
	if len(vectors) > 1 {
		headers = append(headers, record.Header{Key: "frame", Value: []byte(rand.Text())})
	}
	out := make([]record.Out, len(vectors))
	for i, v := range vectors {
		out[i] = record.Out{
			Topic: live.At.Topic, Partition: live.At.Partition, Key: []byte(name),
			Value: record.AppendVector(nil, v), Headers: headers,
		}
	}
	return s.client.Write(ctx, out)
}

// Owner returns the advertised HTTP address of the process that owns a stream, found by the key of its
// records. It returns "" if keys do not determine the partition, no address is advertised, or this process
// owns the stream.
func (s *Stage) Owner(ctx context.Context, name string) (string, error) {
	if by := s.options.Decode.StreamBy; by != "" && by != "key" {
		return "", nil
	}
	for _, in := range s.options.In {
		n, err := s.client.Partitions(ctx, in)
		if err != nil {
			return "", err
		}
		at := topic.TopicPartition{Topic: in, Partition: topic.Partition([]byte(name), 0, n)}
		address, err := consumer.Advertised(ctx, s.client, s.options.Group, at)
		if err != nil {
			return "", err
		}
		if address != "" && address != s.options.Advertise {
			return address, nil
		}
	}
	return "", nil
}

// Remembered returns the names of the streams that this process remembers, sorted: of those it has answered, and those that
// earlier processes answered.
func (s *Stage) Remembered() []string { return s.answers.Known.Names() }

// Elsewhere returns the advertised HTTP addresses of the other processes of the group, sorted. While the group is rebalancing
// nothing is known.
func (s *Stage) Elsewhere(ctx context.Context) ([]string, error) {
	return consumer.Others(ctx, s.client, s.options.Group, s.options.Advertise)
}
