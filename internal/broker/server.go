package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/slkstream/slkstream/internal/topic"
)

// Server is a Kafka broker in this process, on loopback.
type Server struct {
	// Cluster is the broker itself, for tests: its Fault and Control methods make single requests fail or wait.
	Cluster  *kfake.Cluster
	Address  string
	client   *topic.Client
	sweeper  *sweeper
	recovery *recovery // nil: data is in memory only
}

// Serve starts a broker with its data in dir ("": in memory), on port (0: any). extra options are applied
// last and take precedence.
func Serve(dir string, port int, log *slog.Logger, extra ...kfake.Opt) (*Server, error) {
	options := []kfake.Opt{
		kfake.Ports(port),
		kfake.ClusterID("slkstream-embedded"),
		kfake.DefaultNumPartitions(4),
		kfake.GroupMinSessionTimeout(time.Second),
		// A delayed request (see makeTopics) is then watched by its own goroutine. In order, one goroutine
		// watches a whole connection, and if it is delayed between two requests a second one starts beside it:
		// both wake the same request, and the broker waits for ever for its second end. A connection has one
		// request at a time here in any case.
		kfake.SleepOutOfOrder(),
		kfake.WithLogger(kafkaLog{log}),
		kfake.MaxVersions(served()),
		kfake.BrokerConfigs(map[string]string{
			// How often topics are compacted and old records deleted. The broker answers no requests while it
			// reads and writes all records of compacted topics: not too often, but often enough that a restore
			// has little to read.
			"log.cleaner.backoff.ms": "60000",
			"log.segment.bytes":      strconv.Itoa(64 << 20),
		}),
	}
	if dir != "" {
		if err := setDamageAside(dir, log); err != nil {
			return nil, err
		}
		options = append(options, kfake.DataDir(dir))
	}
	cluster, err := kfake.NewCluster(append(options, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	completeFetches(cluster)
	address := cluster.ListenAddrs()[0]
	client, err := topic.Connect(topic.Settings{Brokers: []string{address}, ClientID: "embedded", Log: log})
	if err != nil {
		cluster.Close()
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	s := &Server{Cluster: cluster, Address: address, client: client}
	if dir != "" {
		if s.recovery, err = startRecovery(context.Background(), cluster, client, dir+".transactions",
			log); err != nil {
			client.Close()
			cluster.Close()
			return nil, err
		}
		startRoom(cluster, func() (int64, bool) { return freeBytes(dir) }, log)
		keepOld(cluster)
	}
	makeTopics(cluster, log)
	s.sweeper = startSweeper(cluster, client.Kafka())
	return s, nil
}

// served returns the requests that are advertised: all but those for client telemetry, which is not used here
// and whose answers make librdkafka complain, and those for groups whose partitions the broker assigns (KIP-848): it
// lets members of both kinds into one group, and gives both kinds all partitions. Clients fall back to the others.
func served() *kversion.Versions {
	v := kversion.Stable()
	for _, key := range []kmsg.Key{
		kmsg.GetTelemetrySubscriptions, kmsg.PushTelemetry, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe,
	} {
		v.SetMaxKeyVersion(key.Int16(), -1)
	}
	return v
}

// listenAt makes the broker listen on a host of this machine, behind a guard, and advertise that host to clients.
func listenAt(host string, log *slog.Logger) kfake.Opt {
	return kfake.ListenFn(func(network, address string) (net.Listener, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		listener, err := net.Listen(network, net.JoinHostPort(host, port))
		if err != nil {
			return nil, err
		}
		return &guard{Listener: listener, log: log}, nil
	})
}

// Close writes to disk what is not there yet and stops the broker.
func (s *Server) Close() {
	s.sweeper.close()
	s.client.Close()
	s.Cluster.Close()
	if s.recovery != nil {
		s.recovery.close()
	}
}

// topicSettings are the default settings of the embedded broker's topics: a week or 2 GiB a partition,
// whichever is reached first, as a laptop's disk is small.
func topicSettings() map[string]string {
	return map[string]string{
		"retention.ms":    strconv.FormatInt((7 * 24 * time.Hour).Milliseconds(), 10),
		"retention.bytes": strconv.Itoa(2 << 30),
	}
}

func portTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

// kafkaLog logs the broker's warnings and errors.
type kafkaLog struct{ log *slog.Logger }

func (l kafkaLog) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error("embedded broker: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn("embedded broker: " + fmt.Sprintf(format, args...))
	}
}
