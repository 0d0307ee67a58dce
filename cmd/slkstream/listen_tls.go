package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/slkstream/slkstream/config"
)

// schemeOf is how the addresses of a listener begin.
func schemeOf(l *config.Listen) string {
	if l.Cert != "" {
		return "https://"
	}
	return "http://"
}

// certificate is the listener's certificate. Its files are read again when they change, as they do when it is
// renewed; while the new ones do not fit each other, the last one that did is served.
type certificate struct {
	cert, key string // files

	mu      sync.Mutex
	changed [2]time.Time // of the files
	last    *tls.Certificate
}

// get implements tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed [2]time.Time
	for i, file := range []string{c.cert, c.key} {
		if about, err := os.Stat(file); err == nil {
			changed[i] = about.ModTime()
		}
	}
	if c.last != nil && changed == c.changed {
		return c.last, nil
	}
	read, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.last, c.changed = &read, changed
	} else if c.last == nil {
		return nil, fmt.Errorf("listen: cert=%s, key=%s: %w", c.cert, c.key, err)
	}
	return c.last, nil
}

// servedTLS returns how a listener speaks TLS; nil: it does not.
func servedTLS(l *config.Listen) (*tls.Config, error) {
	if l.Cert == "" {
		return nil, nil
	}
	c := &certificate{cert: l.Cert, key: l.Key}
	_, err := c.get(nil)
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}, err
}

// trusting returns how a command that asks a stage trusts it: by the certificate itself, whatever the address;
// nil: as usual.
func trusting(l *config.Listen) (*tls.Config, error) {
	if l.Cert == "" {
		return nil, nil
	}
	content, err := os.ReadFile(l.Cert)
	if err != nil {
		return nil, usagef("listen: the certificate cannot be read: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, usagef("listen: %s has no certificate", l.Cert)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, // of the name alone: VerifyConnection checks the rest
		VerifyConnection: func(state tls.ConnectionState) error {
			between := x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				between.AddCert(c)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
			return err
		},
	}, nil
}
