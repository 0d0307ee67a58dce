package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a certificate of its own for a name, and its key.
func writeCertificate(t *testing.T, cert, key, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, &about, &about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// With --listen-cert and --listen-key the page speaks TLS, its events too; health trusts the certificate by its
// file. A renewed certificate is served without a restart; one that does not fit is not. What the server says of visitors
// is in the stage's log, in its form.
func TestPageSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, "yard.example")
	d := startDemo(t, "--listen", "127.0.0.1:0", "--listen-cert", cert, "--listen-key", key)
	address := d.line(t, `page +(https://\S+)`)[1]
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	served := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", at.Host, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if name := served(); name != "yard.example" {
		t.Errorf("the certificate is of %s", name)
	}
	content, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(content)
	trust := &tls.Config{RootCAs: roots, ServerName: "yard.example"}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	events, err := client.Get(address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 64)
	if _, err := events.Body.Read(first); err != nil || !strings.HasPrefix(string(first), "retry:") {
		t.Errorf("events %q: %v", first, err)
	}
	events.Body.Close()
	var out bytes.Buffer
	health := []string{"health", "--listen", at.Host}
	if code := execute(t.Context(), append(health, "--listen-cert", cert), &out, &out); code != exitDone {
		t.Errorf("health: exit %d: %s", code, &out)
	}
	if code := execute(t.Context(), health, &out, &out); code == exitDone {
		t.Error("health without the certificate is content")
	}
	writeCertificate(t, cert, key, "new.example")
	if name := served(); name != "new.example" {
		t.Errorf("the renewed certificate is of %s", name)
	}
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name := served(); name != "new.example" {
		t.Errorf("with a key that does not fit, the certificate is of %s", name)
	}
	d.end(t)
	if log := d.messages.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "TLS handshake error") {
		t.Errorf("a visitor without TLS is not in the log: %s", log)
	}
}
