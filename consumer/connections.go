package consumer

import (
	"context"
	"net"
	"sync"
)

// connections are those that a group has opened. kafka-go waits for the answers of its requests, whatever
// happens, unless their connections are cut.
type connections struct {
	mutex sync.Mutex
	open  map[*connection]bool
	done  bool // none may be opened any more
}

type connection struct {
	net.Conn
	of *connections
}

type dialing = func(ctx context.Context, network, address string) (net.Conn, error)

// dialing wraps dial so that cut reaches its connections.
func (c *connections) dialing(dial dialing) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.done {
			conn.Close()
			return nil, net.ErrClosed
		}
		if c.open == nil {
			c.open = map[*connection]bool{}
		}
		one := &connection{conn, c}
		c.open[one] = true
		return one, nil
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mutex.Lock()
	delete(c.of.open, c)
	c.of.mutex.Unlock()
	return c.Conn.Close()
}

// cut closes the connections and opens no others.
func (c *connections) cut() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.done = true
	for one := range c.open {
		one.Conn.Close()
	}
}
