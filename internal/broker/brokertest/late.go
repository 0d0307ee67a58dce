package brokertest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Late is a network between a client and its brokers that takes a request out, breaks the client's connection
// before any answer, and delivers the request later: what a congested network, or a broker with a full queue,
// does with a request whose sender has given up on it and sent it again. Set topic.Settings.Dial to its Dial.
type Late struct {
	mutex sync.Mutex
	key   kmsg.Key          // kind of the next request to hold; -1: none
	held  *late             // nil: none
	after map[kmsg.Key]bool // kinds of the requests that pass until held is delivered
	count int               // how many still do, with the one that it is delivered before
	twice bool              // the request that is held passes too
	done  bool              // something was delivered since Deliver was called
	err   error             // of that
}

// late is a held request.
type late struct {
	address string
	request []byte
}

// NewLate returns a network that holds nothing yet.
func NewLate() *Late { return &Late{key: -1} }

// Hold takes out the next request of kind key, and delivers it just before the count-th request (from 1) of
// the kinds in after that follows it, or with Deliver.
func (l *Late) Hold(key kmsg.Key, count int, after ...kmsg.Key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.key, l.count, l.after, l.twice = key, count, map[kmsg.Key]bool{}, false
	for _, k := range after {
		l.after[k] = true
	}
}

// Copy is like Hold, but the request is not taken out: it is delivered a second time, as a proxy may do.
func (l *Late) Copy(key kmsg.Key, count int, after ...kmsg.Key) {
	l.Hold(key, count, after...)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.twice = true
}

// Dial implements topic.Settings.Dial.
func (l *Late) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: c, network: l, address: address}, nil
}

// Deliver delivers what is held and holds nothing more. It says whether anything was delivered since the last
// call.
func (l *Late) Deliver() (bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.deliver()
	l.key = -1
	done, err := l.done, l.err
	l.done, l.err = false, nil
	return done, err
}

func (l *Late) deliver() {
	h := l.held
	if h == nil {
		return
	}
	l.held, l.done = nil, true
	l.err = h.send()
}

// send sends the request on a connection of its own, and waits for the answer.
func (h *late) send() error {
	c, err := net.DialTimeout("tcp", h.address, 3*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(h.request); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:])))
	return err
}

// pass is called with each request before it is sent, and says whether to hold it.
func (l *Late) pass(address string, request []byte) (hold bool) {
	key := kmsg.Key(binary.BigEndian.Uint16(request[4:]))
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.held != nil && l.after[key] {
		if l.count--; l.count <= 0 {
			l.deliver()
		}
	}
	if key != l.key {
		return false
	}
	l.key, l.held = -1, &late{address, append([]byte(nil), request...)}
	return !l.twice
}

type lateConn struct {
	net.Conn
	network *Late
	address string
	request []byte // not a whole request yet
}

// Write sends whole requests.
func (c *lateConn) Write(p []byte) (int, error) {
	c.request = append(c.request, p...)
	for len(c.request) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(c.request))
		if len(c.request) < size {
			break
		}
		if c.network.pass(c.address, c.request[:size]) {
			c.Conn.Close()
			return len(p), nil
		}
		if _, err := c.Conn.Write(c.request[:size]); err != nil {
			return 0, err
		}
		c.request = append(c.request[:0], c.request[size:]...)
	}
	return len(p), nil
}
