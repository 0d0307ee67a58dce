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
	guard  *guard
	chunks []*chunk // of the request that the broker reads
	read   int      // bytes of the first one that it has read
}

// chunk is a part of a request. All connections share the memory: a request is read at once, and then the connection may be
// silent for long.
type chunk struct {
	bytes [64<<10 - 8]byte // with n, a round size
	n     int
}

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// Read implements net.Conn.
func (c *guarded) Read(p []byte) (int, error) {
	if len(c.chunks) == 0 {
		if err := c.request(); err != nil {
			if errors.Is(err, errNoRequest) {
				c.guard.tell(c.RemoteAddr(), err)
			}
			return 0, err
		}
	}
	first := c.chunks[0]
	n := copy(p, first.bytes[c.read:first.n])
	if c.read += n; c.read == first.n {
		chunks.Put(first)
		c.chunks[0] = nil
		c.chunks, c.read = c.chunks[1:], 0
	}
	return n, nil
}

// request reads the next request. Memory grows with the bytes that arrive, not with those that are announced.
func (c *guarded) request() error {
	const head = 4 << 10 // bytes in which the head is
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return err
	}
	left := int64(binary.BigEndian.Uint32(size[:]))
	switch {
	case left > longestRequest:
		return fmt.Errorf("%w: it claims %d bytes", errNoRequest, left)
	case left == 0:
		return fmt.Errorf("%w: it is empty", errNoRequest)
	}
	next := chunks.Get().(*chunk)
	next.n = copy(next.bytes[:], size[:])
	list := []*chunk{next}
	for most := head; ; most = len(next.bytes) {
		n := int(min(int64(most-next.n), left))
		if _, err := io.ReadFull(c.Conn, next.bytes[next.n:next.n+n]); err != nil {
			return err
		}
		next.n, left = next.n+n, left-int64(n)
		if most == head {
			if err := checkHead(next.bytes[len(size):next.n]); err != nil {
				return err
			}
		}
		if left == 0 {
			c.chunks = list
			return nil
		}
		if next.n == len(next.bytes) {
			next = chunks.Get().(*chunk)
			next.n = 0
			list = append(list, next)
		}
	}
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
