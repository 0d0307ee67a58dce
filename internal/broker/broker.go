// Package broker is the embedded Kafka broker, which commands use if no brokers are given. Its data is in a
// directory. Of the processes that use a directory, one serves it and the others connect to that one.
package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// Files in the directory.
const (
	lockFile    = "lock"    // held by the serving process
	addressFile = "address" // where the serving process listens, and its successors
	dataFolder  = "data"
)

// Broker is this process's part in the embedded broker of a directory: it serves the directory, or stands by
// to serve it when the serving process ends. The address stays the same if its port is free, so that clients
// find the successor by reconnecting.
type Broker struct {
	dir     string
	host    string // to listen on
	address string
	log     *slog.Logger
	lock    *os.File

	mu     sync.Mutex
	server *Server // nil while another process serves

	stop context.CancelFunc
	done chan struct{}
}

// Open returns when dir is served, by another process that answers or by this one. listen is the host and
// port to listen on, a host that clients can be told to connect to; "" is loopback. Port 0 is the previous
// process's port, or any if there was none. Only this user can enter dir.
func Open(ctx context.Context, dir, listen string, log *slog.Logger) (*Broker, error) {
	host, port, err := listenAddress(listen)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded-dir: %w", err)
	}
	// The folder of an older version, or one made by hand, may be open to others.
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, fmt.Errorf("embedded-dir: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded-dir: %w", err)
	}
	b := &Broker{dir: dir, host: host, log: log, lock: lock, done: make(chan struct{})}
	if err := b.begin(ctx, port); err != nil {
		lock.Close()
		return nil, err
	}
	standing, stop := context.WithCancel(context.Background())
	b.stop = stop
	go b.standBy(standing)
	return b, nil
}

// Address is the broker's host:port. It changes if this process takes over and the port is taken.
func (b *Broker) Address() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.address
}

// Serving says whether the broker runs in this process.
func (b *Broker) Serving() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server != nil
}

// Close stops the broker if this process serves it, after writing everything to disk, and releases the
// directory to a successor.
func (b *Broker) Close() error {
	b.stop()
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server != nil {
		b.server.Close()
		b.server = nil
	}
	return b.lock.Close() // this releases the lock
}

// begin waits until the directory is served, by this process or another, for at most 30 s.
func (b *Broker) begin(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if address, err := readAddress(b.dir); err == nil && answers(ctx, address) {
			// A process listens there. It is our directory's broker unless the lock is free.
			b.address = address
		}
		if served, err := b.tryServe(port); err != nil {
			return err
		} else if served || b.address != "" {
			return nil
		}
		if err := topic.Pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("embedded-dir %s is in use, but nothing answers at the address it names: %w", b.dir, err)
		}
	}
}

// standBy serves the directory once the serving process has ended.
func (b *Broker) standBy(ctx context.Context) {
	defer close(b.done)
	var said time.Time
	for !b.Serving() {
		if topic.Pause(ctx, 250*time.Millisecond) != nil {
			return
		}
		if served, err := b.tryServe(portOf(b.address)); err != nil {
			if time.Since(said) < time.Minute {
				continue
			}
			said = time.Now()
			b.log.Error("embedded broker: cannot take over", "dir", b.dir, "error", err)
		} else if served {
			b.log.Info("embedded broker: taken over from a process that ended", "dir", b.dir, "address", b.address)
		}
	}
}

// tryServe serves the directory if it gets the lock. It keeps the previous broker's port,
// because clients reconnect there.
func (b *Broker) tryServe(port int) (bool, error) {
	got, err := tryLock(b.lock)
	if err != nil {
		return false, fmt.Errorf("embedded-dir: lock %s: %w", b.dir, err)
	}
	if !got {
		return false, nil
	}
	if address, err := readAddress(b.dir); err == nil && port == 0 {
		port = portOf(address)
	}
	server, err := Serve(filepath.Join(b.dir, dataFolder), port, b.log, listenAt(b.host, b.log))
	if portTaken(err) {
		b.log.Warn("embedded broker: its port is taken, listening on another", "port", port)
		server, err = Serve(filepath.Join(b.dir, dataFolder), 0, b.log, listenAt(b.host, b.log))
	}
	if err != nil {
		return false, err
	}
	if err := writeAddress(b.dir, server.Address); err != nil {
		server.Close() // the caller may release the lock, and only its holder may write
		return false, err
	}
	b.mu.Lock()
	b.server, b.address = server, server.Address
	b.mu.Unlock()
	return true, nil
}

// listenAddress splits HOST:PORT; "" is any port of loopback.
func listenAddress(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(cmp.Or(listen, "127.0.0.1:0"))
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		return "", 0, fmt.Errorf("embedded-listen: %w", err)
	}
	return host, port, nil
}

func readAddress(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return "", err
	}
	address := strings.TrimSpace(string(text))
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", fmt.Errorf("%s names no address: %q", addressFile, address)
	}
	return address, nil
}

// writeAddress replaces the file atomically, so that a reader sees the old address or the new one.
func writeAddress(dir, address string) error {
	file, err := os.CreateTemp(dir, addressFile+"-*") // accessible to this user only
	if err != nil {
		return fmt.Errorf("embedded-dir: %w", err)
	}
	_, err = file.WriteString(address + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, addressFile))
	}
	if err != nil {
		return fmt.Errorf("embedded-dir: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func answers(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
