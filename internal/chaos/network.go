package main

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// network is a stage's connection to its brokers, which can be cut, held and ended.
type network struct {
	mu     sync.Mutex
	conns  map[*wire]bool
	dead   bool
	hold   chan struct{}     // closed to release held data; nil: nothing is held
	lose   int               // number of answers still to lose
	delay  time.Duration     // delay of everything sent
	change func([]byte)      // modifies each request before it is sent; nil: none
	strike *strike           // nil: none
	refuse bool              // connections are cut, and new ones rejected
	mute   map[kmsg.Key]bool // kinds of requests that get no answer
	local  net.Addr          // local address of connections; nil: any
	passed atomic.Int64      // bytes in both directions
}

// strike calls blow at a chosen moment: when the count-th request of a kind is about to be sent, or has
// just been answered.
type strike struct {
	key         kmsg.Key
	count       int
	afterAnswer bool
	blow        func()
}

var errDead = errors.New("the process was killed")

func newNetwork() *network { return &network{conns: map[*wire]bool{}} }

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if err := n.pass(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	refuse := n.refuse
	n.mu.Unlock()
	if refuse {
		return nil, &net.OpError{Op: "dial", Net: kind, Err: syscall.ECONNREFUSED}
	}
	c, err := (&net.Dialer{Timeout: 3 * time.Second, LocalAddr: n.local}).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: c, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		c.Close()
		return nil, errDead
	}
	n.conns[w] = true
	return w, nil
}

// pass waits while the network is held.
func (n *network) pass() error {
	for {
		n.mu.Lock()
		hold, dead := n.hold, n.dead
		n.mu.Unlock()
		if dead {
			return errDead
		}
		if hold == nil {
			return nil
		}
		<-hold
	}
}

// kill ends every connection for good, in the middle of any request, as kill -9 does.
func (n *network) kill() {
	n.mu.Lock()
	n.dead = true
	conns := n.conns
	n.conns = map[*wire]bool{}
	n.mu.Unlock()
	for w := range conns {
		w.Conn.Close()
	}
	n.thaw()
}

// cut ends every connection; new ones may be opened.
func (n *network) cut() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[*wire]bool{}
	n.mu.Unlock()
	for w := range conns {
		w.Conn.Close()
	}
}

// freeze holds everything until thaw, as SIGSTOP does; no data are lost.
func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold == nil {
		n.hold = make(chan struct{})
	}
}

// strikeAt prepares a strike, which replaces the previous one.
func (n *network) strikeAt(s *strike) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.strike = s
}

// due counts a request and returns the strike if it falls at this request, else nil.
func (n *network) due(request []byte) *strike {
	s := n.strike
	if s == nil || int16(binary.BigEndian.Uint16(request[4:])) != int16(s.key) {
		return nil
	}
	if s.count--; s.count > 0 {
		return nil
	}
	n.strike = nil
	return s
}

func (n *network) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold != nil {
		close(n.hold)
		n.hold = nil
	}
}

// loseAnswers cuts the next connections just as an answer arrives, so that the request is carried out but its
// sender does not know.
func (n *network) loseAnswers(count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose += count
}

// refuseAll cuts every connection and rejects new ones; false ends that.
func (n *network) refuseAll(refuse bool) {
	n.mu.Lock()
	n.refuse = refuse
	n.mu.Unlock()
	if refuse {
		n.cut()
	}
}

// muteAll leaves requests of some kinds unanswered; no kinds ends that and cuts connections that wait
// for an answer.
func (n *network) muteAll(keys ...kmsg.Key) {
	n.mu.Lock()
	n.mute = map[kmsg.Key]bool{}
	for _, k := range keys {
		n.mute[k] = true
	}
	n.mu.Unlock()
	if len(keys) == 0 {
		n.cut()
	}
}

func (n *network) slow(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = by
}

type wire struct {
	net.Conn
	network *network
	request []byte  // data passed to Write that are not a whole request yet
	strike  *strike // due when an answer arrives
}

func (w *wire) Read(p []byte) (int, error) {
	k, err := w.Conn.Read(p)
	w.network.passed.Add(int64(k))
	if held := w.network.pass(); held != nil {
		return 0, held
	}
	w.network.mu.Lock()
	lost := k > 0 && w.network.lose > 0
	if lost {
		w.network.lose--
	}
	var struck *strike
	if k > 0 {
		struck, w.strike = w.strike, nil
	}
	w.network.mu.Unlock()
	if lost {
		w.Close()
		return 0, net.ErrClosed
	}
	if struck != nil {
		struck.blow()
		if held := w.network.pass(); held != nil {
			return 0, held
		}
	}
	return k, err
}

// Write sends whole requests, because events happen at or between requests.
func (w *wire) Write(p []byte) (int, error) {
	if err := w.network.pass(); err != nil {
		return 0, err
	}
	w.request = append(w.request, p...)
	for len(w.request) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(w.request))
		if len(w.request) < size {
			break
		}
		if err := w.send(w.request[:size]); err != nil {
			return 0, err
		}
		w.request = append(w.request[:0], w.request[size:]...)
	}
	return len(p), nil
}

func (w *wire) send(request []byte) error {
	n := w.network
	n.mu.Lock()
	delay, change, struck := n.delay, n.change, n.due(request)
	mute := n.mute[kmsg.Key(binary.BigEndian.Uint16(request[4:]))]
	if struck != nil && struck.afterAnswer {
		w.strike = struck
	}
	n.mu.Unlock()
	n.passed.Add(int64(len(request)))
	if mute {
		return nil
	}
	time.Sleep(delay)
	if struck != nil && !struck.afterAnswer {
		struck.blow()
		if err := n.pass(); err != nil {
			return err
		}
	}
	if change != nil {
		change(request)
	}
	_, err := w.Conn.Write(request)
	return err
}

func (w *wire) Close() error {
	w.network.mu.Lock()
	delete(w.network.conns, w)
	w.network.mu.Unlock()
	return w.Conn.Close()
}
