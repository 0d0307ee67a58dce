package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"slkstream/pipeline"
)

// listener serves metrics, health and the page on one address.
type listener struct {
	server *http.Server
	done   chan error
}

// listen starts the listener.
func listen(c *call, stage *pipeline.Stage) (*listener, error) {
	address := c.Config.Listen.Address
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", address, err)
	}
	mux := http.NewServeMux()
	health(mux, stage.Metrics())
	l := &listener{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, done: make(chan error, 1)}
	go func() { l.done <- l.server.Serve(socket) }()
	c.Log.Info("listening", "address", "http://"+socket.Addr().String())
	return l, nil
}

// health adds what an orchestrator and Prometheus ask for.
func health(mux *http.ServeMux, metrics *pipeline.Metrics) {
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !metrics.Ready() {
			http.Error(w, "reading labels, or stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
}

func (l *listener) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // a page that is still open is no reason to stay
	}
	if err := <-l.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
