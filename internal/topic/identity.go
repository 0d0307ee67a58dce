package topic

import (
	"context"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Identity returns a new producer id, as a Stamp whose Sequence the caller must count. kafka-go's own request
// cannot be used: it looks for a transaction coordinator, and here there is no transaction.
func (c *Client) Identity(ctx context.Context) (Stamp, error) {
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &identityRequest{ctx, c.clientID})
	})
	if err == nil && answer.(*identityAnswer).code != 0 {
		err = answer.(*identityAnswer).code
	}
	if err != nil {
		return Anonymous, fmt.Errorf("get a producer's identity: %w", err)
	}
	return answer.(*identityAnswer).stamp, nil
}

// identityRequest is InitProducerId in its first version, which every broker supports.
type identityRequest struct {
	ctx      context.Context
	clientID string
}

type identityAnswer struct {
	code  kafka.Error
	stamp Stamp
}

func (r *identityRequest) ApiKey() protocol.ApiKey { return protocol.InitProducerId }

func (a *identityAnswer) ApiKey() protocol.ApiKey                  { return protocol.InitProducerId }
func (r *identityRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request and reads the answer.
func (r *identityRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	w := requestHead(protocol.InitProducerId, 0, r.clientID)
	w = append(w, 0xff, 0xff) // no transactional id
	w = appendInt32(w, int32(requestTimeout.Milliseconds()))
	body, err := exchange(r.ctx, rw, w, nil, requestTimeout)
	if err != nil {
		return nil, err
	}
	f := fields{b: body}
	f.int32() // throttled
	a := &identityAnswer{code: kafka.Error(f.int16()), stamp: Stamp{Producer: f.int64(), Epoch: f.int16()}}
	if f.bad {
		return nil, fmt.Errorf("%w: answer to a request for an identity of %d bytes", ErrCorrupt, len(body))
	}
	return a, nil
}
