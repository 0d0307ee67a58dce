package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream/taught"
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
	port, odd := strconv.Atoi(text)
	if err = errors.Join(err, odd); err != nil {
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
	secure, err := servedTLS(l)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	if access.Token != "" && !access.Loopback && secure == nil {
		c.Log.Warn("the page speaks no TLS: tokens cross the network in clear unless a proxy or a mesh "+
			"in front of it encrypts; --listen-cert and --listen-key have it speak TLS", "listen", l.Address)
	}
	server := &http.Server{
		Handler:           access.Guard(mux),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute,
		ConnState:   new(web.Visitors).State,
		TLSConfig:   secure,
		ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
	}
	serve := server.Serve
	if secure != nil {
		serve = func(socket net.Listener) error { return server.ServeTLS(socket, "", "") }
	}
	var failed error
	serving.Go(func() {
		if err := serve(socket); !errors.Is(err, http.ErrServerClosed) {
			failed = err
		}
	})
	c.Log.Info("listening", "address", schemeOf(l)+socket.Addr().String())
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
	})
}

// newPage makes the live page of a stage. What is taught on it goes through the labels topic, like any other
// teaching.
func newPage(
	c *call, client *topic.Client, title string, kept *recent.Store, support []taught.Example, demo ...web.Scene,
) *web.Page {
	l := &c.Config.Listen
	o := web.Options{
		Title: title, Demo: demo, Recent: kept, ImageURL: l.ImageURL(), ImageHosts: l.Images,
		UserHeader: l.UserHeader, MaxWrong: c.Config.Memory.MaxWrong, Log: c.Log, Feed: feedFlags(c),
	}
	if topics := c.Config.Topics.Labels; topics != "" {
		o.LabelsTopic, o.Corrects = topics, c.Config.Topics.Corrections != ""
		o.Say = func(ctx context.Context, records []record.Out) error { return labels.Write(ctx, client, records) }
		o.ForgetName = func(ctx context.Context, n record.Name) ([]record.Receipt, error) {
			return forgetName(ctx, c, client, support, n)
		}
	}
	return web.New(o)
}

// feedFlags returns the flags with which the command feed reaches the stage's input.
func feedFlags(c *call) string {
	k, flags := &c.Config.Kafka, "--out "+c.Config.Topics.In[0]
	switch {
	case len(k.Brokers) > 0:
		flags += " --brokers " + strings.Join(k.Brokers, ",")
	case k.EmbeddedDir != config.Default("run").Kafka.EmbeddedDir:
		flags += " --embedded-dir " + k.EmbeddedDir
	}
	return flags
}

// newRecent returns the store of recently answered items; nil if none are kept.
func newRecent(c *call) *recent.Store {
	if c.Config.Memory.Recent == 0 {
		return nil
	}
	most := int64(c.Config.Memory.Recent)
	if budget := int64(c.Config.Memory.Budget); budget > 0 {
		most = min(most, budget/8)
	}
	return recent.New(most)
}

// advertised returns the URL at which others reach this process's listener: the one that is given, or its
// host or, if it listens on all interfaces, the address from which this machine reaches the brokers; "" if
// others cannot reach it.
func advertised(l *config.Listen, brokers []string) string {
	switch {
	case strings.Contains(l.Advertise, "://"):
		return l.Advertise
	case l.Advertise != "":
		return schemeOf(l) + l.Advertise
	}
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil || port == "0" || len(brokers) == 0 {
		return ""
	}
	route, err := net.Dial("udp", brokers[0]) // sends nothing
	if err != nil {
		return ""
	}
	defer route.Close()
	own, ok := route.LocalAddr().(*net.UDPAddr)
	if !ok || l.IsLoopback() && !own.IP.IsLoopback() {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = own.IP.String()
	}
	return schemeOf(l) + net.JoinHostPort(host, port)
}
