package pipeline

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

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
