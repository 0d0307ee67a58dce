package web

import (
	"net/http"
	"sync"
	"time"
)

const (
	mostClients = 64
	behind      = 32 // messages queued for a slow visitor, who misses those beyond
)

// clients are the open event streams.
type clients struct {
	mu     sync.Mutex
	open   map[chan []byte]bool
	closed bool
}

// add opens a stream; nil: too many are open, or the page is closing.
func (c *clients) add() chan []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.open) >= mostClients {
		return nil
	}
	if c.open == nil {
		c.open = map[chan []byte]bool{}
	}
	messages := make(chan []byte, behind)
	c.open[messages] = true
	return messages
}

func (c *clients) remove(messages chan []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, messages)
}

// any says whether a stream is open.
func (c *clients) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}

// send queues the message for each visitor whose queue has room. A nil message is ignored.
func (c *clients) send(message []byte) {
	if message == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for messages := range c.open {
		select {
		case messages <- message:
		default:
		}
	}
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for messages := range c.open {
		close(messages)
	}
	c.open = nil
}

// events serves the page's event stream.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	messages := p.clients.add()
	if messages == nil {
		send(w, nil, refuse(http.StatusServiceUnavailable, "too many pages are open; close one and reload"))
		return
	}
	defer p.clients.remove(messages)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Time{}) != nil { // the server's deadline is for short requests
		return
	}
	write := func(b []byte) bool {
		const patience = 10 * time.Second
		if control.SetWriteDeadline(time.Now().Add(patience)) != nil {
			return false
		}
		if _, err := w.Write(b); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	for _, m := range append([][]byte{[]byte("retry: 1000\n\n")}, p.welcome()...) {
		if !write(m) {
			return
		}
	}
	alive := time.NewTicker(15 * time.Second) // detects visitors who left
	defer alive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case m, ok := <-messages:
			if !ok || !write(m) {
				return
			}
		case <-alive.C:
			if !write([]byte(": alive\n\n")) {
				return
			}
		}
	}
}
