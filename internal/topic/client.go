// Package topic is a Kafka client without consumer groups: it manages topics and their settings, finds
// offsets, writes batches of records, and reads single partitions in order. A Client uses one kafka-go
// Transport, and so one pool of connections.
package topic

import (
	"context"
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

// requestTimeout bounds every request except a fetch that waits, so that a hanging broker is noticed and the
// request repeated.
const requestTimeout = 10 * time.Second

// Settings configures the connection to the brokers. Connect reads the files. New connections use their
// current content.
type Settings struct {
	Brokers  []string // host:port, any of the cluster
	ClientID string
	// Rack is where this process runs, as broker.rack names it: partitions are read from the replica there, if the
	// brokers have a replica.selector.class that chooses it. "": from their leaders.
	Rack     string
	TLS      bool   // implied by any of the three files
	CA       string // PEM file of the authorities to trust; "": the system's
	Cert     string // PEM file of the client's certificate; needs Key
	Key      string
	SASL     string // "", plain, scram-sha-256, scram-sha-512, oauthbearer
	User     string
	Password string
	// PasswordFile is where Password comes from. New connections read it again; "": the password stays.
	PasswordFile string
	// For oauthbearer, exactly one of the two: a file with the token, or a shell command that prints it.
	TokenFile, TokenCommand string
	// Topics lists all topics that the client uses. Only their metadata is fetched, which a long-running process
	// does about once a second. nil: that of all topics of the cluster.
	Topics []string
	Log    *slog.Logger // nil: slog.Default()
	// Dial opens every connection; tests set it to cut, delay and corrupt connections. nil: plain TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a connection to a Kafka cluster. It is safe for concurrent use.
type Client struct {
	withoutIDs atomic.Bool // the brokers do not support topic ids
	kafka      *kafka.Client
	transport  *kafka.Transport
	brokers    []string
	clientID   string
	rack       string
	dialer     *kafka.Dialer
	log        *slog.Logger
	stop       context.CancelFunc

	failures failures
	quota    writeQuota
	clock    clock

	mutex  sync.Mutex
	limits map[string]limit // by topic
}

// Connect returns a client. It opens no connection, so unreachable brokers are not an error here.
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
	dial := dialing((&net.Dialer{Timeout: 3 * time.Second}).DialContext)
	if s.Dial != nil {
		dial = s.Dial
	}
	encrypted := s.TLS || s.CA != "" || s.Cert != "" || s.Key != ""
	if encrypted {
		files := &certificates{ca: s.CA, cert: s.Cert, key: s.Key, log: log}
		if _, err := files.current(); err != nil {
			return nil, err
		}
		dial = files.secure(dial)
	}
	mechanism, err := s.mechanism(log)
	if err != nil {
		return nil, err
	}
	if secret := strings.ToLower(s.SASL); !encrypted && (secret == "plain" || secret == "oauthbearer") {
		log.Warn("sasl " + secret + " without tls: the password or token can be read on the network; turn --tls on")
	}
	ctx, stop := context.WithCancel(context.Background())
	transport := &kafka.Transport{
		Dial:     dial,
		ClientID: s.ClientID,
		SASL:     mechanism,
		// A moved leader is found through the metadata: with the default of six seconds, its partitions would
		// stand still for that long.
		MetadataTTL:    2 * time.Second,
		MetadataTopics: s.Topics,
		Context:        ctx,
	}
	return &Client{
		kafka:     &kafka.Client{Addr: kafka.TCP(s.Brokers...), Timeout: requestTimeout, Transport: transport},
		transport: transport,
		brokers:   s.Brokers,
		clientID:  s.ClientID,
		rack:      s.Rack,
		dialer: &kafka.Dialer{
			ClientID: s.ClientID, Timeout: 5 * time.Second,
			DialFunc: dial, SASLMechanism: mechanism,
		},
		log: log, stop: stop, limits: map[string]limit{},
	}, nil
}

// Close closes all connections.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.stop()
}

// Kafka returns kafka-go's own client, which uses the same connections.
func (c *Client) Kafka() *kafka.Client { return c.kafka }

// Dialer returns a dialer with the same settings, for connections of kafka-go beside this client's.
func (c *Client) Dialer() *kafka.Dialer { return c.dialer }

// Brokers returns Settings.Brokers.
func (c *Client) Brokers() []string { return c.brokers }

func (s *Settings) mechanism(log *slog.Logger) (sasl.Mechanism, error) {
	switch m := strings.ToLower(s.SASL); m {
	case "":
		return nil, nil
	case "plain":
		return s.password("PLAIN", log, func(password string) (sasl.Mechanism, error) {
			return plain.Mechanism{Username: s.User, Password: password}, nil
		})
	case "scram-sha-256", "scram-sha-512":
		algorithm := scram.SHA256
		if m == "scram-sha-512" {
			algorithm = scram.SHA512
		}
		return s.password(algorithm.Name(), log, func(password string) (sasl.Mechanism, error) {
			return scram.Mechanism(algorithm, s.User, password)
		})
	case "oauthbearer":
		return newBearer(s.TokenFile, s.TokenCommand)
	default:
		return nil, fmt.Errorf("sasl: %q is none of plain, scram-sha-256, scram-sha-512, oauthbearer", s.SASL)
	}
}

// send sends a request by a method of kafka-go's client, with call's deadline and repetition.
func send[Q, A any](ctx context.Context, do func(context.Context, *Q) (*A, error), request Q) (*A, error) {
	return call(ctx, func(ctx context.Context) (*A, error) { return do(ctx, &request) })
}

// call runs one request with a deadline. It repeats it at once if the connection is broken, as every pooled
// connection is after its broker has restarted. Only for requests that may be repeated.
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
