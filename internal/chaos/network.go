package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// network is a stage's way to its brokers, to be cut, held up and ended.
type network struct {
	mu     sync.Mutex
	conns  map[*wire]bool
	dead   bool
	hold   chan struct{} // closed when what is held may go on; nil: nothing is held
	lose   int           // answers still to be lost
	delay  time.Duration // of everything sent
	change func([]byte)  // falsifies what is sent, a request at a time; nil: nothing
}

var errDead = errors.New("the process was killed")

func newNetwork() *network { return &network{conns: map[*wire]bool{}} }

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	if err := n.pass(); err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, kind, address)
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

// pass waits while everything is held.
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

// kill ends every connection for good, in the middle of whatever is under way, as kill -9 does.
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

// cut ends every connection; new ones may be made.
func (n *network) cut() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[*wire]bool{}
	n.mu.Unlock()
	for w := range conns {
		w.Conn.Close()
	}
}

// freeze holds everything until thaw, as SIGSTOP does; nothing of it is lost.
func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold == nil {
		n.hold = make(chan struct{})
	}
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hold != nil {
		close(n.hold)
		n.hold = nil
	}
}

// loseAnswers cuts the next connections just when an answer arrives, so that what was asked is done and not known to be.
func (n *network) loseAnswers(count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose += count
}

func (n *network) slow(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = by
}

type wire struct {
	net.Conn
	network *network
	request []byte // what has been given to Write and is not a whole request yet
}

func (w *wire) Read(p []byte) (int, error) {
	k, err := w.Conn.Read(p)
	if held := w.network.pass(); held != nil {
		return 0, held
	}
	w.network.mu.Lock()
	lost := k > 0 && w.network.lose > 0
	if lost {
		w.network.lose--
	}
	w.network.mu.Unlock()
	if lost {
		w.Close()
		return 0, net.ErrClosed
	}
	return k, err
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.network.pass(); err != nil {
		return 0, err
	}
	w.network.mu.Lock()
	delay, change := w.network.delay, w.network.change
	w.network.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	if change == nil {
		return w.Conn.Write(p)
	}
	w.request = append(w.request, p...)
	for len(w.request) >= 4 {
		size := 4 + int(uint32(w.request[0])<<24|uint32(w.request[1])<<16|uint32(w.request[2])<<8|uint32(w.request[3]))
		if len(w.request) < size {
			break
		}
		change(w.request[:size])
		if _, err := w.Conn.Write(w.request[:size]); err != nil {
			return 0, err
		}
		w.request = append(w.request[:0], w.request[size:]...)
	}
	return len(p), nil
}

func (w *wire) Close() error {
	w.network.mu.Lock()
	delete(w.network.conns, w)
	w.network.mu.Unlock()
	return w.Conn.Close()
}
