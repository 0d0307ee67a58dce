package topic

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"

	"github.com/segmentio/kafka-go/protocol"
)

// dialing opens a connection.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// withoutCreating gives connections over which nobody makes a topic by asking for it. kafka-go's consumer
// group asks for its topics' partitions with leave to make them: an input that was deleted would be made
// again by its reader. encryption, if not nil, is done here, as the requests are to be seen.
func withoutCreating(dial dialing, encryption *tls.Config) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if encryption != nil {
			config := encryption.Clone()
			if config.ServerName == "" {
				config.ServerName, _, _ = net.SplitHostPort(address)
			}
			secure := tls.Client(conn, config)
			if err := secure.HandshakeContext(ctx); err != nil {
				_ = conn.Close() // the handshake's error says more
				return nil, err
			}
			conn = secure
		}
		return &notCreating{Conn: conn}, nil
	}
}

// notCreating takes the leave to make topics out of the metadata requests that are written to it. A request
// may come in several writes, and one write may hold several; only its head is never cut.
type notCreating struct {
	net.Conn
	left     int  // bytes of the request that is being written
	metadata bool // that request ends with the leave
}

func (n *notCreating) Write(b []byte) (int, error) {
	const (
		head     = 8 // size, kind, version
		withFlag = 4 // the first version of the metadata request that has the leave; up to 7 it is the last byte
		lastFlag = 7
	)
	own := b
	for at := 0; at < len(b); {
		if n.left == 0 {
			if len(b)-at < head {
				break // no request of Kafka's: a step of SASL, say
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
