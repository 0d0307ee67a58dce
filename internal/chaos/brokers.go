package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slkstream/slkstream/test/kafka"
)

// brokers is the cluster below the stages that a scenario breaks.
type brokers interface {
	Brokers() []string
	Stop(i int) error
	Kill(i int) error
	Restart(ctx context.Context, i int) error
	Close() error
}

func startBrokers(ctx context.Context, s *scenario, dir string) (brokers, error) {
	switch s.broker {
	case "real":
		options := kafka.Options{Dir: filepath.Join(dir, "kafka"), Brokers: s.brokers}
		for range s.brokers {
			if s.name == "cut" {
				p, err := newProxy()
				if err != nil {
					return nil, err
				}
				s.proxies = append(s.proxies, p)
				options.Proxies = append(options.Proxies, p.address())
			}
		}
		cluster, err := kafka.Start(ctx, options)
		if err != nil {
			return nil, err // avoids a nil cluster in a non-nil interface
		}
		for i, p := range s.proxies {
			p.serve(cluster.Proxied()[i])
		}
		return cluster, nil
	case "embedded":
		e := &embeddedBroker{binary: s.binary, dir: filepath.Join(dir, "embedded")}
		return e, e.Restart(ctx, 0)
	}
	return nil, fmt.Errorf("broker %q is neither real nor embedded", s.broker)
}

// embeddedBroker is slkstream's embedded broker as a process.
type embeddedBroker struct {
	binary, dir, address string
	process              *exec.Cmd
}

func (e *embeddedBroker) Brokers() []string { return []string{e.address} }

func (e *embeddedBroker) Restart(_ context.Context, _ int) error {
	e.process = exec.Command(e.binary, "broker", "--embedded-dir", e.dir)
	e.process.Stderr = os.Stderr
	out, err := e.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := e.process.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the embedded broker does not say its address: %w", err)
	}
	e.address = strings.TrimSpace(line)
	return nil
}

func (e *embeddedBroker) Kill(int) error { return e.end(os.Kill) }
func (e *embeddedBroker) Stop(int) error { return e.end(os.Interrupt) }
func (e *embeddedBroker) Close() error   { return e.end(os.Kill) }

func (e *embeddedBroker) end(s os.Signal) error {
	if e.process == nil {
		return nil
	}
	if err := e.process.Process.Signal(s); err != nil {
		return err
	}
	_ = e.process.Wait() // it was signalled to end
	e.process = nil
	return nil
}
