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

// certificates are the TLS files. Every new connection reads them again, so that a renewal needs no restart.
// While they cannot be used, the last ones that could are.
type certificates struct {
	ca, cert, key string
	log           *slog.Logger

	mutex sync.Mutex
	last  *tls.Config // nil: not loaded yet
}

// current returns the configuration by the files as they are now. An error is that of the first load.
func (c *certificates) current() (*tls.Config, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	config, err := TLS(c.ca, c.cert, c.key)
	switch {
	case err == nil:
		c.last = config
	case c.last == nil:
		return nil, err
	default:
		c.log.Warn("certificates have changed and cannot be used: the last ones stay in use", "error", err)
	}
	return c.last, nil
}

// dialing opens a connection.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

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
