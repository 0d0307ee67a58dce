package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
)

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
	for next := port + 1; ; next++ {
		socket, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(next)))
		if !errors.Is(err, syscall.EADDRINUSE) || next == port+tries {
			return socket, err
		}
	}
}

// serveWhile runs work. Meanwhile it serves metrics, health and the page, which may be nil, at the address
// that work gets; nil if none is configured. Health is open to everyone; the rest is guarded.
func serveWhile(ctx context.Context, c *call, stage *pipeline.Stage, page *web.Page,
	work func(context.Context, net.Addr) error,
) error {
	l := &c.Config.Listen
	if l.Address == "" {
		return work(ctx, nil)
	}
	socket, err := openSocket(c)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	healthEndpoints(mux, stage.Metrics())
	showing, hide := context.WithCancel(context.Background())
	defer hide()
	var serving sync.WaitGroup
	if page != nil {
		page.Follow(stage)
		mux.Handle("/", page.Handler())
		serving.Go(func() { page.Run(showing) })
	}
	access := web.Access{
		Loopback: l.IsLoopback(), Token: string(l.Token), View: string(l.ViewToken),
		Open: []string{"/livez", "/readyz"},
	}
	if access.Token != "" && !access.Loopback {
		c.Log.Warn("the page speaks no TLS: tokens cross the network in clear unless a proxy or a mesh "+
			"in front of it encrypts", "listen", l.Address)
	}
	server := &http.Server{
		Handler:           access.Guard(mux),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute,
		ConnState:   new(web.Visitors).State,
	}
	var failed error
	serving.Go(func() {
		if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			failed = err
		}
	})
	c.Log.Info("listening", "address", "http://"+socket.Addr().String())
	err = work(ctx, socket.Addr())
	hide() // ends the event streams, which would keep the server open
	patience, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(patience) != nil {
		_ = server.Close() // an open page does not delay the exit
	}
	serving.Wait()
	return errors.Join(err, failed)
}

// healthEndpoints adds the endpoints for orchestrators and Prometheus.
func healthEndpoints(mux *http.ServeMux, metrics *pipeline.Metrics) {
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := metrics.Ready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		for _, t := range metrics.Paused() {
			fmt.Fprintln(w, t.What, t.Cause)
		}
	})
}
