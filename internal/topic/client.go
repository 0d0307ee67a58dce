// Package topic talks to Kafka below the level of groups: topics and their settings, offsets, batches of
// records written and acknowledged, and one partition read in order. Everything a process does here shares
// one kafka-go Transport, and so one pool of connections.
package topic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// requestTimeout bounds every request but a waiting fetch, so that a broker that hangs is noticed and another
// asked.
const requestTimeout = 10 * time.Second

// Settings says how to reach the brokers. Connect reads the files, and new connections go by what has changed
// in them.
type Settings struct {
	Brokers  []string // host:port, any of the cluster
	ClientID string
	TLS      bool   // implied by any of the three files
	CA       string // PEM file of the authorities to trust; "": the system's
	Cert     string // PEM file of the client's certificate; needs Key
	Key      string
	SASL     string // "", plain, scram-sha-256, scram-sha-512, oauthbearer
	User     string
	Password string
	// Of oauthbearer one of the two: a file that holds the token, or a command of the shell that prints it.
	TokenFile, TokenCommand string
	// Topics are all that are used: the brokers are asked for their layout alone, which a process that lasts
	// does about once a second. nil: for all topics of the cluster.
	Topics []string
	Log    *slog.Logger // nil: slog.Default()
	// Dial opens every connection, for tests that cut, hold and falsify them; nil: plain TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a process's way to its Kafka cluster; any number of goroutines may use it.
type Client struct {
	withoutIDs atomic.Bool // the brokers know of no topic ids
	kafka      *kafka.Client
	transport  *kafka.Transport
	brokers    []string
	clientID   string
	dialer     *kafka.Dialer
	log        *slog.Logger
	stop       context.CancelFunc

	failures failures

	mutex   sync.Mutex
	limits  map[string]messageLimit // of topics that were asked for it
	refused map[string]int          // the smallest record that each topic has rejected for its size, and had to take as it is
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
	log := s.Log
	if log == nil {
		log = slog.Default()
	}
	var encryption *tls.Config
	if s.TLS || s.CA != "" || s.Cert != "" || s.Key != "" {
		var err error
		if encryption, err = (&certificates{ca: s.CA, cert: s.Cert, key: s.Key, log: log}).config(); err != nil {
			return nil, err
		}
	}
	mechanism, err := s.mechanism()
	if err != nil {
		return nil, err
	}
	if secret := strings.ToLower(s.SASL); encryption == nil && (secret == "plain" || secret == "oauthbearer") {
		log.Warn("sasl " + secret + " without tls: whoever listens on the network reads the password or token; turn --tls on")
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
		// The layout is what a moved leader is found by: stale for six seconds, the default, is six seconds of
		// silence.
		MetadataTTL:    2 * time.Second,
		MetadataTopics: s.Topics,
		Context:        ctx,
	}
	return &Client{
		kafka:     &kafka.Client{Addr: kafka.TCP(s.Brokers...), Timeout: requestTimeout, Transport: transport},
		transport: transport,
		brokers:   s.Brokers,
		clientID:  s.ClientID,
		dialer: &kafka.Dialer{
			ClientID: s.ClientID, Timeout: 5 * time.Second,
			DialFunc: withoutCreating(dial, encryption), SASLMechanism: mechanism,
		},
		log:  log,
		stop: stop,
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
	case "oauthbearer":
		return newBearer(s.TokenFile, s.TokenCommand)
	default:
		return nil, fmt.Errorf("sasl: %q is none of plain, scram-sha-256, scram-sha-512, oauthbearer", s.SASL)
	}
}

// call gives one request its deadline and asks a second time at once when a connection turned out to be dead,
// as every pooled one does the first time after its broker restarted. Only for requests that may be repeated.
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
