// Package brokertest gives tests a Kafka to talk to: the embedded broker, or the real one that
// SLKSTREAM_TEST_BROKERS names, so that the same tests run on both.
package brokertest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/topic"
)

// variable names the environment variable that holds the brokers to test against, host:port, separated by
// commas.
const variable = "SLKSTREAM_TEST_BROKERS"

// Real says whether the tests run against the brokers that the environment names.
func Real() bool { return os.Getenv(variable) != "" }

// Brokers are the addresses to test against: those of the environment, or of an embedded broker that lasts as
// long as the test.
func Brokers(t testing.TB) []string {
	t.Helper()
	if Real() {
		return strings.Split(os.Getenv(variable), ",")
	}
	return []string{Embedded(t).Address}
}

// Embedded starts an embedded broker for this test, whatever the environment says; its Cluster injects
// faults.
func Embedded(t testing.TB, options ...kfake.Opt) *broker.Server {
	t.Helper()
	server, err := broker.Serve(t.TempDir(), 0, slog.New(slog.NewTextHandler(io.Discard, nil)), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// Main runs a package's tests. What one leaves running is a fault.
func Main(m *testing.M) {
	Beside()
	goleak.VerifyTestMain(m)
}

// Beside lets eight tests run at once that say that they are parallel, as these wait for timeouts, and hardly for cores.
func Beside() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "8")
	}
}

// Connect returns a client that is closed with the test.
func Connect(t testing.TB, brokers []string) *topic.Client {
	t.Helper()
	client, err := topic.Connect(topic.Settings{Brokers: brokers, ClientID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Topic makes a topic with a name of its own, which begins with the given one.
func Topic(t testing.TB, client *topic.Client, name string, partitions int,
	settings map[string]string,
) string {
	t.Helper()
	name = Name(name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.Create(ctx, topic.Description{
		Name: name, Partitions: partitions,
		Settings: settings,
	}); err != nil {
		t.Fatal(err)
	}
	return name
}

// Name makes a name of a topic or group that no other test has.
func Name(name string) string { return fmt.Sprintf("%s-%08x", name, rand.Uint32()) }
