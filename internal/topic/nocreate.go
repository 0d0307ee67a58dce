package topic

import (
	"context"
	"encoding/binary"
	"net"

	"github.com/segmentio/kafka-go/protocol"
)

// dialing opens a connection.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// withoutCreating wraps dial so that metadata requests over its connections do not create topics. kafka-go's
// consumer group allows creation when it asks for its topics' partitions, and so would create a deleted input
// topic again.
func withoutCreating(dial dialing) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &notCreating{Conn: conn}, nil
	}
}

// notCreating clears allow_auto_topic_creation in the metadata requests that are written to it. A request may
// come in several writes, and one write may hold several requests, but the first 8 bytes of a request must
// not be split.
type notCreating struct {
	net.Conn
	left     int  // bytes of the request that is being written
	metadata bool // that request ends with the flag
}

func (n *notCreating) Write(b []byte) (int, error) {
	const (
		head     = 8 // size, API key, version
		withFlag = 4 // the first metadata version with allow_auto_topic_creation; up to 7 it is the last byte
		lastFlag = 7
	)
	own := b
	for at := 0; at < len(b); {
		if n.left == 0 {
			if len(b)-at < head {
				break // not a Kafka request: a step of SASL, for example
			}
			kind, version := binary.BigEndian.Uint16(b[at+4:]), binary.BigEndian.Uint16(b[at+6:])
			n.left = 4 + int(binary.BigEndian.Uint32(b[at:]))
			n.metadata = protocol.ApiKey(kind) == protocol.Metadata && version >= withFlag && version <= lastFlag
		}
		step := min(n.left, len(b)-at)
		at += step
		if n.left -= step; n.left == 0 && n.metadata && b[at-1] != 0 {
			if &own[0] == &b[0] {
				own = append([]byte(nil), b...)
			}
			own[at-1] = 0
		}
	}
	return n.Conn.Write(own)
}
