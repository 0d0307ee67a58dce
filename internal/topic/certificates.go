package topic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// TLS returns a configuration from PEM files: the authorities to trust, "" for the system's, and the client's
// certificate and key, "" for none.
func TLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-ca: %s holds no PEM certificate", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, fmt.Errorf("tls-cert %q and tls-key %q go together", cert, key)
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("tls-cert and tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// certificates holds the TLS files. They are read again when they change, so that a renewal needs no restart:
// new connections use the new files. If these cannot be used, the previous ones stay in force until a file
// changes.
type certificates struct {
	ca, cert, key string
	log           *slog.Logger

	mutex  sync.Mutex
	read   [3]time.Time // modification times of the files at the last load
	config *tls.Config  // nil: not loaded yet
}

// current returns the configuration, after a reload if the files have changed. An error is that of the first
// load.
func (c *certificates) current() (*tls.Config, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	times := c.times()
	if c.config != nil && times == c.read {
		return c.config, nil
	}
	c.read = times
	config, err := TLS(c.ca, c.cert, c.key)
	switch {
	case c.config == nil && err != nil:
		return nil, err
	case err != nil:
		c.log.Warn("certificates have changed and cannot be used: the last ones stay in use", "error", err)
		return c.config, nil
	case c.config != nil:
		c.log.Info("the new certificates are in use")
	}
	c.config = config
	return config, nil
}

// times returns the files' modification times; zero for a file that is not set or not there.
func (c *certificates) times() (times [3]time.Time) {
	for i, path := range []string{c.ca, c.cert, c.key} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// secure wraps dial so that its connections are encrypted, by the files as they are then.
func (c *certificates) secure(dial dialing) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		config, err := c.current()
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the handshake's error is the one to report
			return nil, err
		}
		return secure, nil
	}
}
