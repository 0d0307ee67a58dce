package kafka

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates are PEM files: the authority to trust, and a client's certificate and key.
type Certificates struct {
	CA, Cert, Key string
	Server        string // the broker's key and certificate in one, as Kafka wants them
}

// WriteCertificates makes an authority, and a server and a client that it vouches for.
func WriteCertificates(dir string) (Certificates, error) {
	files := Certificates{
		filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"),
		filepath.Join(dir, "client.key"), filepath.Join(dir, "server.pem"),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return files, err
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, err
	}
	authority := certificate(1, "test authority")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return files, err
	}
	if err := os.WriteFile(files.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o644); err != nil {
		return files, err
	}
	issue := func(serial int64, name string) (cert, key []byte, err error) {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		der, err := x509.CreateCertificate(rand.Reader, certificate(serial, name), authority, &k.PublicKey,
			authorityKey)
		if err != nil {
			return nil, nil, err
		}
		pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			return nil, nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
	}
	cert, key, err := issue(2, "broker")
	if err != nil {
		return files, fmt.Errorf("issue the broker's certificate: %w", err)
	}
	if err := os.WriteFile(files.Server, bytes.Join([][]byte{key, cert}, nil), 0o600); err != nil {
		return files, err
	}
	if cert, key, err = issue(3, "client"); err != nil {
		return files, fmt.Errorf("issue the client's certificate: %w", err)
	}
	if err := os.WriteFile(files.Cert, cert, 0o644); err != nil {
		return files, err
	}
	return files, os.WriteFile(files.Key, key, 0o600)
}

func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"localhost"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}
