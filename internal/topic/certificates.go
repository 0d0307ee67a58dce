package topic

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates holds the TLS files. They are read again when they change, so that a renewal needs no restart:
// new connections use the new files. If these cannot be used, the previous ones stay in force.
type certificates struct {
	ca, cert, key string
	log           *slog.Logger

	mutex sync.Mutex
	read  [3]time.Time // modification times of the files at the last load
	pool  *x509.CertPool
	pair  *tls.Certificate
}

// config returns a TLS configuration that follows changes of the files.
func (c *certificates) config() (*tls.Config, error) {
	if err := c.load(); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.cert != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			_, pair := c.current()
			return pair, nil
		}
	}
	if c.ca != "" {
		config.InsecureSkipVerify = true // VerifyConnection verifies, with the current authorities
		config.VerifyConnection = func(state tls.ConnectionState) error {
			pool, _ := c.current()
			if len(state.PeerCertificates) == 0 {
				return errors.New("the broker shows no certificate")
			}
			between := x509.NewCertPool()
			for _, certificate := range state.PeerCertificates[1:] {
				between.AddCert(certificate)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
				DNSName: state.ServerName, Roots: pool,
				Intermediates: between,
			})
			return err
		}
	}
	return config, nil
}

// current returns the authorities and the key pair, after a reload if the files have changed.
func (c *certificates) current() (*x509.CertPool, *tls.Certificate) {
	if changed := c.changed(); changed {
		if err := c.load(); err != nil {
			c.log.Warn("certificates have changed and cannot be used: going by those before", "error", err)
		} else {
			c.log.Info("certificates were read again")
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.pool, c.pair
}

func (c *certificates) changed() bool {
	now := c.times()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return now != c.read
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

// load reads the files. After an error the previous ones stay in force until a file changes.
func (c *certificates) load() error {
	times := c.times()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.read = times
	pool, pair := c.pool, c.pair
	if c.ca != "" {
		pem, err := os.ReadFile(c.ca)
		if err != nil {
			return fmt.Errorf("tls-ca: %w", err)
		}
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls-ca: %s holds no PEM certificate", c.ca)
		}
	}
	if (c.cert == "") != (c.key == "") {
		return fmt.Errorf("tls-cert %q and tls-key %q go together", c.cert, c.key)
	}
	if c.cert != "" {
		loaded, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return fmt.Errorf("tls-cert and tls-key: %w", err)
		}
		pair = &loaded
	}
	c.pool, c.pair = pool, pair
	return nil
}
