package topic

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// correlation is the correlation id of every request. One is enough, as a connection has one request
// in flight.
const correlation = 1

// maxAnswer bounds the size that an answer may declare.
const maxAnswer = 1 << 30

// exchange sends a request over one of kafka-go's connections and returns the answer without its header, in
// buffer if that is large enough. limit is how long the broker may take to begin the answer, and then for
// each part of it: a large one may take longer on a slow link. If ctx ends first, it returns at once with an
// error, and the connection is closed.
func exchange(ctx context.Context, rw io.ReadWriter, request, buffer []byte,
	limit time.Duration,
) ([]byte, error) {
	conn, ok := rw.(net.Conn)
	if !ok {
		return nil, fmt.Errorf("a request over %T, which is no connection", rw)
	}
	extendDeadline := func() error {
		if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		return ctx.Err() // whose deadline this one may have replaced
	}
	if err := extendDeadline(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	body, err := sendAndReceive(conn, request, buffer, extendDeadline)
	if !stop() {
		return nil, context.Cause(ctx) // the past deadline may be set: the error makes the pool drop it
	}
	if err != nil {
		return nil, err
	}
	return body, conn.SetDeadline(time.Time{})
}

// sendAndReceive calls extendDeadline before each read of the answer's body.
func sendAndReceive(conn io.ReadWriter, request, buffer []byte, extendDeadline func() error) ([]byte, error) {
	binary.BigEndian.PutUint32(request, uint32(len(request)-4))
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > maxAnswer {
		return nil, fmt.Errorf("%w: an answer claims %d bytes", ErrCorrupt, size)
	}
	if id := binary.BigEndian.Uint32(head[4:]); id != correlation {
		return nil, fmt.Errorf("%w: answer to request %d, not %d", ErrCorrupt, id, correlation)
	}
	if int64(cap(buffer)) < size {
		buffer = make([]byte, size)
	}
	body := buffer[:size]
	for read := 0; read < len(body); {
		if err := extendDeadline(); err != nil {
			return nil, err
		}
		n, err := conn.Read(body[read:])
		if read += n; err != nil && read < len(body) {
			return nil, noEnd(err)
		}
	}
	return body, nil
}
