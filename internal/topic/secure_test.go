package topic_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/test/kafka"
)

// secured returns the addresses and files of a broker that requires certificates and of one that requires
// SASL: from the environment (see test/kafka/with), else of embedded ones.
func secured(t *testing.T) (withTLS, withSASL string, files kafka.Certificates) {
	t.Helper()
	if os.Getenv("SLKSTREAM_TEST_TLS") != "" {
		return os.Getenv("SLKSTREAM_TEST_TLS"), os.Getenv("SLKSTREAM_TEST_SASL"),
			kafka.Certificates{
				CA: os.Getenv("SLKSTREAM_TEST_CA"), Cert: os.Getenv("SLKSTREAM_TEST_CERT"),
				Key: os.Getenv("SLKSTREAM_TEST_KEY"),
			}
	}
	files, err := kafka.WriteCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.Server, files.Server)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(ca)
	serve := func(options ...kfake.Opt) string {
		server, err := broker.Serve("", 0, slog.New(slog.NewTextHandler(io.Discard, nil)), options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return server.Address
	}
	both := &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: authorities,
		ClientAuth: tls.RequireAndVerifyClientCert,
	}
	own := &tls.Config{Certificates: []tls.Certificate{pair}}
	return serve(kfake.TLS(both)),
		serve(kfake.TLS(own), kfake.EnableSASL(), kfake.Superuser("PLAIN", kafka.User, kafka.Password),
			kfake.Superuser("SCRAM-SHA-256", kafka.User, kafka.Password), kfake.Superuser("SCRAM-SHA-512", kafka.User,
				kafka.Password)), files
}

func TestCertificatesAndPasswords(t *testing.T) {
	withTLS, withSASL, files := secured(t)
	try := func(s topic.Settings) error {
		t.Helper()
		client, err := topic.Connect(s)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx := within(t, 30*time.Second)
		if _, err := client.Partitions(ctx, "secured"); err != nil && !topic.IsMissing(err) {
			return err
		}
		if err := client.Ensure(ctx, topic.Description{Name: "secured", Partitions: 1}); err != nil {
			return err
		}
		end, err := client.Offset(ctx, "secured", 0, topic.Latest, true)
		if err != nil {
			return err
		}
		if err := client.Write(ctx, []record.Out{{Topic: "secured", Value: []byte("x")}}); err != nil {
			return err
		}
		if got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: "secured", Offset: end}),
			end+1); len(got) != 1 {
			t.Errorf("%d records", len(got))
		}
		conn, err := client.Dialer().DialContext(ctx, "tcp", s.Brokers[0])
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Brokers()
		return err
	}
	if err := try(topic.Settings{
		Brokers: []string{withTLS}, CA: files.CA, Cert: files.Cert,
		Key: files.Key,
	}); err != nil {
		t.Errorf("certificates: %v", err)
	}
	if err := try(topic.Settings{Brokers: []string{withTLS}, CA: files.CA}); err == nil {
		t.Error("a client without a certificate is let in")
	}
	if err := try(topic.Settings{Brokers: []string{withTLS}, TLS: true}); err == nil {
		t.Error("a broker of an unknown authority is trusted")
	}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		s := topic.Settings{
			Brokers: []string{withSASL}, CA: files.CA, SASL: mechanism, User: kafka.User,
			Password: kafka.Password,
		}
		if err := try(s); err != nil {
			t.Errorf("%s: %v", mechanism, err)
		}
		s.Password = "wrong"
		if err := try(s); err == nil || !strings.Contains(err.Error(), "--sasl") {
			t.Errorf("%s: a wrong password: %v; want an error that names --sasl", mechanism, err)
		}
	}
}

// A certificate counts only for the host that was dialled, whether that is a name or an address.
func TestCertificateOfAnotherHost(t *testing.T) {
	withTLS, _, files := secured(t)
	_, port, err := net.SplitHostPort(withTLS)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.9", "other.example"} {
		client, err := topic.Connect(topic.Settings{
			Brokers: []string{net.JoinHostPort(host, port)}, CA: files.CA, Cert: files.Cert, Key: files.Key,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, withTLS)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Partitions(within(t, 30*time.Second), "any")
		client.Close()
		if wrong := (x509.HostnameError{}); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// The next connection uses a changed password without a restart. A file that is half written is ignored.
func TestChangedPasswords(t *testing.T) {
	t.Parallel()
	_, withSASL, files := secured(t)
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "password")
			put := func(password string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("of yesterday\n")
			client, err := topic.Connect(topic.Settings{
				Brokers: []string{withSASL}, CA: files.CA, SASL: mechanism, User: kafka.User,
				Password: "of yesterday", PasswordFile: file, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			try := func() error { // both kinds of connections
				ctx := within(t, 30*time.Second)
				if _, err := client.Partitions(ctx, "any"); !topic.IsMissing(err) {
					return err
				}
				conn, err := client.Dialer().DialContext(ctx, "tcp", withSASL)
				if err == nil {
					err = conn.Close()
				}
				return err
			}
			if try() == nil {
				t.Fatal("a wrong password is accepted")
			}
			put(kafka.Password + "\n")
			for deadline := within(t, time.Minute); ; { // the refusal is remembered for a moment
				err := try()
				if err == nil {
					break
				}
				if topic.Pause(deadline, 20*time.Millisecond) != nil {
					t.Fatalf("after the password was changed: %v", err)
				}
			}
			put("")
			if err := try(); err != nil {
				t.Errorf("with an empty file: %v", err)
			}
		})
	}
}
