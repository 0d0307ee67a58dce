package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// proxy forwards connections between the stages and one broker through a network, so that they can be cut,
// held, slowed or lost.
type proxy struct {
	listener net.Listener
	network  *network
	target   string // set before the first connection
	passing  sync.WaitGroup
}

func newProxy() (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &proxy{listener: listener, network: newNetwork()}, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// serve forwards connections until the proxy is closed.
func (p *proxy) serve(target string) {
	p.target = target
	p.passing.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.passing.Go(func() { p.pass(client) })
		}
	})
}

// pass forwards one connection in both directions until either side ends it.
func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	broker, err := p.network.dial(context.Background(), "tcp", p.target)
	if err != nil {
		return // the broker is away: the client's connection is closed
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(broker, client) // whatever the error, the other direction ends too
		broker.Close()
	})
	_, _ = io.Copy(client, broker)
	client.Close()
	there.Wait()
}

func (p *proxy) close() {
	p.listener.Close()
	p.network.kill()
	p.passing.Wait()
}

// disconnect disturbs the connection between the stages and one broker.
func (s *scenario) disconnect(_ context.Context, _ int) error {
	i := s.random.IntN(len(s.proxies))
	n := s.proxies[i].network
	switch s.random.IntN(4) {
	case 0:
		s.h.note("connections to broker %d are cut", i+1)
		n.cut()
	case 1:
		count := 1 + s.random.IntN(8)
		s.h.note("%d answers of broker %d are lost", count, i+1)
		n.loseAnswers(count)
	case 2:
		by := time.Duration(20+s.random.IntN(180)) * time.Millisecond
		s.h.note("requests to broker %d take %v longer", i+1, by)
		n.slow(by)
		time.AfterFunc(2*s.pause, func() { n.slow(0) })
	default:
		long := s.session/2 + time.Duration(s.random.Int64N(int64(s.session)))
		s.h.note("nothing gets through to broker %d for %v", i+1, long.Round(time.Millisecond))
		n.freeze()
		time.AfterFunc(long, n.thaw)
	}
	return nil
}
