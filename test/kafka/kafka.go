// Package kafka runs a real Apache Kafka on loopback for tests: one broker or several, plain or secured, to
// be stopped, killed, frozen and started again. It needs a Java runtime (17 or later), and Maven the first
// time.
package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options say what to run.
type Options struct {
	Dir     string // where data, logs and certificates go
	Brokers int    // default 1; from 3 on, topics have three replicas, two of which must be in sync
	// Secure adds a listener for TLS with client certificates and one for SASL over TLS, see Cluster.TLS and
	// Cluster.SASL.
	Secure bool
	// Proxies are addresses, one a broker, that a further plain listener tells clients instead of its own, see
	// Cluster.Proxied: what passes between such clients and the brokers is in the hands of whoever listens
	// there.
	Proxies []string
	Heap    string            // default 512m
	Extra   map[string]string // more properties, which win
}

// The user that SASL knows.
const (
	User     = "alice"
	Password = "alice-secret"
)

// Cluster is one or more brokers that are also its controllers.
type Cluster struct {
	options   Options
	classpath string
	id        string
	files     Certificates
	nodes     []*node
}

type node struct {
	id                                    int
	dir                                   string
	port, controller, tls, sasls, proxied int
	process                               *exec.Cmd
	ended                                 chan struct{}
}

// Start runs a new cluster and returns when every broker serves.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	classpath, err := jars(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, classpath: classpath}
	if c.id, err = c.tool(ctx, "random-uuid"); err != nil {
		return nil, err
	}
	if o.Secure {
		if c.files, err = WriteCertificates(filepath.Join(o.Dir, "certificates")); err != nil {
			return nil, err
		}
	}
	const each = 5
	ports, err := freePorts(each * o.Brokers)
	if err != nil {
		return nil, err
	}
	for i := range o.Brokers {
		p := ports[each*i:]
		c.nodes = append(c.nodes, &node{
			id: i + 1, dir: filepath.Join(o.Dir, fmt.Sprint("broker-", i+1)), port: p[0], controller: p[1], tls: p[2],
			sasls: p[3], proxied: p[4],
		})
	}
	for _, n := range c.nodes {
		if err := c.format(ctx, n); err != nil {
			return nil, err
		}
	}
	for _, n := range c.nodes {
		if err := c.launch(n); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	for i := range c.nodes {
		if err := c.awaitStarted(ctx, i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Brokers are the plain listeners.
func (c *Cluster) Brokers() []string { return c.listeners(func(n *node) int { return n.port }) }

// TLS are the listeners that want a client's certificate.
func (c *Cluster) TLS() []string { return c.listeners(func(n *node) int { return n.tls }) }

// SASL are the listeners that want User and Password, over TLS.
func (c *Cluster) SASL() []string { return c.listeners(func(n *node) int { return n.sasls }) }

// Proxied are the listeners that tell clients the addresses of Options.Proxies.
func (c *Cluster) Proxied() []string { return c.listeners(func(n *node) int { return n.proxied }) }

// Certificates are the files that a client needs for TLS.
func (c *Cluster) Certificates() Certificates { return c.files }

func (c *Cluster) listeners(port func(*node) int) []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", port(n)))
	}
	return all
}

// Stop ends a broker in order and waits until it is gone.
func (c *Cluster) Stop(i int) error { return c.signal(i, syscall.SIGTERM, true) }

// Kill ends a broker as kill -9 does.
func (c *Cluster) Kill(i int) error { return c.signal(i, syscall.SIGKILL, true) }

// Freeze stops a broker without ending it; Thaw lets it go on.
func (c *Cluster) Freeze(i int) error { return c.signal(i, syscall.SIGSTOP, false) }

// Thaw lets a frozen broker go on.
func (c *Cluster) Thaw(i int) error { return c.signal(i, syscall.SIGCONT, false) }

// Restart starts a stopped or killed broker with its old data and returns when it serves.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	if err := c.launch(c.nodes[i]); err != nil {
		return err
	}
	return c.awaitStarted(ctx, i)
}

// Close kills what runs.
func (c *Cluster) Close() error {
	for i, n := range c.nodes {
		if n.process != nil {
			if err := c.Kill(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) signal(i int, s syscall.Signal, wait bool) error {
	n := c.nodes[i]
	if n.process == nil {
		return fmt.Errorf("broker %d does not run", n.id)
	}
	if err := n.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("broker %d: %w", n.id, err)
	}
	if wait {
		<-n.ended
		n.process = nil
	}
	return nil
}

func (c *Cluster) tool(ctx context.Context, args ...string) (string, error) {
	java := exec.CommandContext(ctx, "java", append([]string{"-cp", c.classpath, "kafka.tools.StorageTool"},
		args...)...)
	var out, said bytes.Buffer
	java.Stdout, java.Stderr = &out, &said
	if err := java.Run(); err != nil {
		return "", fmt.Errorf("kafka-storage %s: %w\n%s%s", args[0], err, out.String(), said.String())
	}
	lines := strings.Fields(out.String())
	if len(lines) == 0 {
		return "", nil
	}
	return lines[len(lines)-1], nil
}

func (c *Cluster) format(ctx context.Context, n *node) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(n.file("server.properties"), c.properties(n), 0o644); err != nil {
		return err
	}
	args := []string{"format", "-t", c.id, "-c", n.file("server.properties")}
	if c.options.Secure {
		for _, m := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", m, User, Password))
		}
	}
	_, err := c.tool(ctx, args...)
	return err
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

func (c *Cluster) launch(n *node) error {
	log, err := os.OpenFile(n.file("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	java := exec.Command("java", "-Xms"+c.options.Heap, "-Xmx"+c.options.Heap, "-XX:+UseG1GC",
		"-cp", c.classpath, "kafka.Kafka", n.file("server.properties"))
	java.Stdout, java.Stderr = log, log
	endWithParent(java)
	if err := java.Start(); err != nil {
		return fmt.Errorf("start broker %d: %w", n.id, err)
	}
	n.process, n.ended = java, make(chan struct{})
	go func(ended chan struct{}) {
		java.Wait() // how it ended is in its log
		close(ended)
	}(n.ended)
	return nil
}

// awaitStarted waits for the line that Kafka logs when it serves.
func (c *Cluster) awaitStarted(ctx context.Context, i int) error {
	n := c.nodes[i]
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		log, err := os.ReadFile(n.file("log"))
		if err == nil && bytes.Contains(log, []byte("Kafka Server started")) {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("broker %d ended while it started:\n%s", n.id, tail(log))
		case <-ctx.Done():
			return fmt.Errorf("broker %d has not started: %w\n%s", n.id, ctx.Err(), tail(log))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func tail(log []byte) []byte { return log[max(0, len(log)-4000):] }

// freePorts finds ports that nobody listens on now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that no port comes twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
