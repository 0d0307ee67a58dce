package topic

import (
	"context"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Member sends a heartbeat and returns nil if member belongs to the group's generation. kafka-go's own
// heartbeat request cannot be used: it reads the answer's fields in the wrong order, and so misses errors.
func (c *Client) Member(ctx context.Context, group string, generation int32, member string) error {
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &heartbeat{ctx, c.clientID, group, generation, member})
	})
	if err == nil && answer.(*heartbeatAnswer).code != 0 {
		err = answer.(*heartbeatAnswer).code
	}
	if err != nil {
		return fmt.Errorf("generation %d of group %s: %w", generation, group, err)
	}
	return nil
}

// heartbeat is the request in its first version, which every broker supports.
type heartbeat struct {
	ctx        context.Context
	clientID   string
	group      string
	generation int32
	member     string
}

type heartbeatAnswer struct{ code kafka.Error }

func (h *heartbeat) ApiKey() protocol.ApiKey                 { return protocol.Heartbeat }
func (h *heartbeatAnswer) ApiKey() protocol.ApiKey           { return protocol.Heartbeat }
func (h *heartbeat) Group() string                           { return h.group }
func (h *heartbeat) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request and reads the answer.
func (h *heartbeat) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	w := requestHead(protocol.Heartbeat, 0, h.clientID)
	w = appendText(w, h.group)
	w = appendInt32(w, h.generation)
	w = appendText(w, h.member)
	body, err := exchange(h.ctx, rw, w, nil, requestTimeout)
	if err != nil {
		return nil, err
	}
	f := fields{b: body}
	code := f.int16()
	if f.bad {
		return nil, fmt.Errorf("%w: answer to a heartbeat of %d bytes", ErrCorrupt, len(body))
	}
	return &heartbeatAnswer{kafka.Error(code)}, nil
}
