package broker

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// guard reads requests whole and looks at their heads before the broker does, which believes what they say: it makes
// room for as many bytes as any first four bytes claim, up to 4 GB, and ends with an unknown kind of request. What is no
// request ends its connection.
type guard struct {
	net.Listener
	log *slog.Logger

	mutex sync.Mutex
	told  time.Time // of the last line in the log
}

// longestRequest is Kafka's socket.request.max.bytes.
const longestRequest = 100 << 20

// Accept implements net.Listener.
func (g *guard) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guarded{Conn: c, guard: g}, nil
}

// tell logs a connection that is ended, at most once a minute.
func (g *guard) tell(from net.Addr, err error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if time.Since(g.told) > time.Minute {
		g.told = time.Now()
		g.log.Warn("embedded broker: a connection that does not speak Kafka's protocol is ended", "from", from, "error", err)
	}
}

// guarded is a connection from which requests are read whole.
type guarded struct {
	net.Conn
	guard   *guard
	buffer  []byte
	pending []byte // part of buffer that the broker has not read yet
}

// Read implements net.Conn.
func (c *guarded) Read(p []byte) (int, error) {
	if len(c.pending) == 0 {
		if err := c.request(); err != nil {
			if errors.Is(err, errNoRequest) {
				c.guard.tell(c.RemoteAddr(), err)
			}
			return 0, err
		}
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

// request reads the next request. Memory grows with the bytes that arrive, not with those that are announced.
func (c *guarded) request() error {
	const first, kept = 4 << 10, 1 << 20
	if cap(c.buffer) > kept {
		c.buffer = nil
	}
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return err
	}
	left := int64(binary.BigEndian.Uint32(size[:]))
	if left > longestRequest {
		return fmt.Errorf("%w: it claims %d bytes", errNoRequest, left)
	}
	b := append(c.buffer[:0], size[:]...)
	for part := int64(first); left > 0; part *= 2 {
		n := int(min(part, left))
		b = append(b, make([]byte, n)...)
		if _, err := io.ReadFull(c.Conn, b[len(b)-n:]); err != nil {
			return err
		}
		if left -= int64(n); part == first {
			if err := checkHead(b[4:]); err != nil {
				return err
			}
		}
	}
	if len(b) == len(size) {
		return fmt.Errorf("%w: it is empty", errNoRequest)
	}
	c.buffer, c.pending = b, b
	return nil
}

var errNoRequest = errors.New("no request")

// checkHead returns an error if b does not begin with the head of a request: a known kind in a version of it, the
// client's id, and, in later versions, tags, of which none is defined.
func checkHead(b []byte) error {
	r := kbin.Reader{Src: b}
	key, version, _, client := r.Int16(), r.Int16(), r.Int32(), r.NullableString()
	if !r.Ok() {
		return fmt.Errorf("%w: its head is cut short", errNoRequest)
	}
	request := kmsg.RequestForKey(key)
	if request == nil || version < 0 || version > request.MaxVersion() && kmsg.Key(key) != kmsg.ApiVersions {
		return fmt.Errorf("%w: kind %d in version %d", errNoRequest, key, version)
	}
	request.SetVersion(version)
	if tags := r.Uvarint(); request.IsFlexible() && (!r.Ok() || tags != 0) {
		return fmt.Errorf("%w: %d tags in the head of client %.40q", errNoRequest, tags, *cmp.Or(client, new(string)))
	}
	return nil
}
