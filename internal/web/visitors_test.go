package web

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
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

// Whoever comes is not held up by a visitor with TLS who does not read, to whom it would say goodbye.
func TestClosingHoldsNobodyUp(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS() // for its certificate
	defer secure.Close()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		visitor, first := tls.Client(there, &tls.Config{InsecureSkipVerify: true}), tls.Server(here, secure.TLS)
		go visitor.Handshake()
		if err := first.Handshake(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var v Visitors
		begun := time.Now()
		v.State(first, http.StateNew)
		for range mostConnections {
			v.State(here, http.StateNew)
		}
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("the next visitor waits for %v", waited)
		}
		if _, err := here.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the oldest connection is open: %v", err)
		}
	})
}
