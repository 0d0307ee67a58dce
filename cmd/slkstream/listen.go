package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
)

// listener serves metrics, health and the page on one address.
type listener struct {
	server *http.Server
	done   chan error
	stop   context.CancelFunc // of the page
	shown  chan struct{}      // the page has ended
}

// openSocket listens at the configured address. If the default address is in use, as by another stage, it
// takes the next free port.
func openSocket(c *call) (net.Listener, error) {
	address := c.Config.Listen.Address
	socket, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) && !c.Config.Given("listen") {
		if socket, err = nextSocket(address); err == nil {
			c.Log.Warn("the address is taken by another process, this one takes the next free port; --listen chooses one",
				"taken", address, "listening", socket.Addr())
			return socket, nil
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen: %s is taken by another process: choose another address with --listen: %w",
			address, syscall.EADDRINUSE)
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return socket, nil
}

// nextSocket listens at the first free port above the address's.
func nextSocket(address string) (socket net.Listener, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	const tries = 100
	for next := range tries {
		socket, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port+1+next)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return socket, err
}

// serve starts the listener on a socket. page may be nil. Health is open to everyone; the rest is guarded.
func serve(c *call, socket net.Listener, stage *pipeline.Stage, page *web.Page) *listener {
	mux := http.NewServeMux()
	health(mux, stage.Metrics())
	access := web.Access{
		Loopback: c.Config.Listen.IsLoopback(), Token: string(c.Config.Listen.Token),
		View: string(c.Config.Listen.ViewToken),
		Open: []string{"/livez", "/readyz"},
	}
	l := &listener{done: make(chan error, 1), shown: make(chan struct{}), stop: func() {}}
	if page == nil {
		close(l.shown)
	} else {
		mux.Handle("/", page.Handler())
		var showing context.Context
		showing, l.stop = context.WithCancel(context.Background())
		go func() {
			defer close(l.shown)
			page.Run(showing)
		}()
	}
	l.server = &http.Server{
		Handler:           access.Guard(mux),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute,
	}
	go func() { l.done <- l.server.Serve(socket) }()
	if access.Token != "" && !access.Loopback {
		c.Log.Warn("the page speaks no TLS: tokens cross the network in clear unless a proxy or a mesh "+
			"in front of it encrypts", "listen", c.Config.Listen.Address)
	}
	c.Log.Info("listening", "address", "http://"+socket.Addr().String())
	return l
}

// health adds the endpoints for orchestrators and Prometheus.
func health(mux *http.ServeMux, metrics *pipeline.Metrics) {
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := metrics.Ready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		for _, t := range metrics.Paused() {
			fmt.Fprintln(w, strings.Join([]string{t.What, t.Cause}, " "))
		}
	})
}

func (l *listener) close() error {
	l.stop() // ends the event streams, which would keep the server open
	<-l.shown
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // an open page does not delay the exit
	}
	if err := <-l.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
