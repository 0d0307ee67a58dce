package web

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// However many connections visitors keep open, another one is served: the oldest without a request are closed.
func TestConnectionsAreBounded(t *testing.T) {
	var v Visitors
	entered, leave := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			entered <- struct{}{}
			<-leave
		}
	}))
	server.Config.ConnState = v.State
	server.Start()
	defer server.Close()
	long := make(chan error)
	go func() {
		r, err := server.Client().Get(server.URL + "/long")
		if err == nil {
			r.Body.Close()
		}
		long <- err
	}()
	<-entered
	var first net.Conn
	for range mostConnections + 20 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if first == nil {
			first = conn
		}
	}
	r, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	_, _ = io.ReadAll(first) // returns once it is closed, by EOF or a reset
	close(leave)
	if err := <-long; err != nil {
		t.Errorf("the oldest connection had a request: %v", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.all) > mostConnections {
		t.Errorf("%d connections are kept", len(v.all))
	}
}

// lasting is a connection whose end takes as long as a visitor wants, as that of one with TLS who does not read may.
type lasting struct {
	net.Conn
	closing chan struct{}
}

func (l *lasting) Close() error {
	l.closing <- struct{}{}
	return nil
}

// Whoever comes is not held up by the end of another's connection.
func TestClosingHoldsNobodyUp(t *testing.T) {
	var v Visitors
	first := &lasting{closing: make(chan struct{})}
	v.State(first, http.StateNew)
	for range mostConnections {
		v.State(&lasting{}, http.StateNew)
	}
	<-first.closing
}
