// Package topic talks to Kafka below the level of groups: topics and their settings, offsets, batches of records
// written and acknowledged, and one partition read in order. Everything a process does here shares one kafka-go
// Transport, and so one pool of connections.
package topic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// requestTimeout bounds every request but a waiting fetch, so that a broker that hangs is noticed and another asked.
const requestTimeout = 10 * time.Second

// Settings says how to reach the brokers. Files are read by Connect, once.
type Settings struct {
	Brokers  []string // host:port, any of the cluster
	ClientID string
	TLS      bool   // implied by any of the three files
	CA       string // PEM file of the authorities to trust; "": the system's
	Cert     string // PEM file of the client's certificate; needs Key
	Key      string
	SASL     string // "", plain, scram-sha-256, scram-sha-512
	User     string
	Password string
	Log      *slog.Logger // nil: slog.Default()
	// Dial opens every connection, for tests that cut, hold and falsify them; nil: plain TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a process's way to its Kafka cluster; any number of goroutines may use it.
type Client struct {
	kafka     *kafka.Client
	transport *kafka.Transport
	brokers   []string
	clientID  string
	dialer    *kafka.Dialer
	log       *slog.Logger
	stop      context.CancelFunc

	mutex  sync.Mutex
	limits map[string]messageLimit // of topics that have rejected a record for its size
}

// Connect prepares a client; it opens no connection yet, so that brokers that are away are no error here.
func Connect(s Settings) (*Client, error) {
	if len(s.Brokers) == 0 {
		return nil, errors.New("no brokers given")
	}
	for _, b := range s.Brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			return nil, fmt.Errorf("brokers: %q is not host:port: %w", b, err)
		}
	}
	encryption, err := s.encryption()
	if err != nil {
		return nil, err
	}
	mechanism, err := s.mechanism()
	if err != nil {
		return nil, err
	}
	log := s.Log
	if log == nil {
		log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 3 * time.Second}).DialContext
	}
	transport := &kafka.Transport{
		Dial:     dial,
		ClientID: s.ClientID,
		TLS:      encryption,
		SASL:     mechanism,
		// The layout is what a moved leader is found by: stale for six seconds, the default, is six seconds of silence.
		MetadataTTL: 2 * time.Second,
		Context:     ctx,
	}
	return &Client{
		kafka:     &kafka.Client{Addr: kafka.TCP(s.Brokers...), Timeout: requestTimeout, Transport: transport},
		transport: transport,
		brokers:   s.Brokers,
		clientID:  s.ClientID,
		dialer:    &kafka.Dialer{ClientID: s.ClientID, Timeout: 5 * time.Second, DialFunc: dial, TLS: encryption, SASLMechanism: mechanism},
		log:       log,
		stop:      stop,
	}, nil
}

// Close lets go of every connection.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.stop()
}

// Kafka is kafka-go's own client on the same connections.
func (c *Client) Kafka() *kafka.Client { return c.kafka }

// Dialer opens single connections in the same way, for kafka-go's consumer groups.
func (c *Client) Dialer() *kafka.Dialer { return c.dialer }

// Brokers are the addresses the client was given.
func (c *Client) Brokers() []string { return c.brokers }

func (s *Settings) encryption() (*tls.Config, error) {
	if !s.TLS && s.CA == "" && s.Cert == "" && s.Key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-ca: %s holds no PEM certificate", s.CA)
		}
	}
	if (s.Cert == "") != (s.Key == "") {
		return nil, fmt.Errorf("tls-cert %q and tls-key %q go together", s.Cert, s.Key)
	}
	if s.Cert != "" {
		pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return nil, fmt.Errorf("tls-cert and tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *Settings) mechanism() (sasl.Mechanism, error) {
	switch m := strings.ToLower(s.SASL); m {
	case "":
		return nil, nil
	case "plain":
		return plain.Mechanism{Username: s.User, Password: s.Password}, nil
	case "scram-sha-256", "scram-sha-512":
		algorithm := scram.SHA256
		if m == "scram-sha-512" {
			algorithm = scram.SHA512
		}
		mechanism, err := scram.Mechanism(algorithm, s.User, s.Password)
		if err != nil {
			return nil, fmt.Errorf("sasl-user: %w", err)
		}
		return mechanism, nil
	default:
		return nil, fmt.Errorf("sasl: %q is none of plain, scram-sha-256, scram-sha-512", s.SASL)
	}
}

// call gives one request its deadline and asks a second time at once when a connection turned out to be dead, as every
// pooled one does the first time after its broker restarted. Only for requests that may be repeated.
func call[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	try := func() (T, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return do(ctx)
	}
	answer, err := try()
	if err != nil && ctx.Err() == nil && brokenConnection(err) {
		return try()
	}
	return answer, err
}
