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

// certificates are the files that TLS goes by. They are read again when they change, so that whoever renews
// them need not restart anything: a new connection goes by the new ones. Files that cannot be used leave
// those before in force.
type certificates struct {
	ca, cert, key string
	log           *slog.Logger

	mutex sync.Mutex
	read  [3]time.Time // when the files that are in force were last changed
	pool  *x509.CertPool
	pair  *tls.Certificate
}

// config is a TLS configuration that follows the files.
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
		config.InsecureSkipVerify = true // verified below, by the authorities of the moment
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

// current are the authorities and the pair in force.
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

// times are when the files were changed last.
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

// load reads the files; on an error those before stay, and it is not tried again until one changes.
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
