package topic_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// A client with all rights gets Read and Write.
func TestRightsToEverything(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "rights", 3, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rights, err := client.Rights(ctx, name)
	if err != nil || !rights.Known || !rights.Read || !rights.Write {
		t.Errorf("rights %+v, error %v", rights, err)
	}
	if rights, err := client.Rights(ctx, name+"-which-is-not-there"); err == nil {
		t.Errorf("a topic that does not exist: rights %+v", rights)
	}
}

// A client that may only read learns it from Rights, before a write.
func TestRightsAreTold(t *testing.T) {
	allow := func(operation kmsg.ACLOperation, name string) kfake.ACL {
		return kfake.ACL{
			Resource: kmsg.ACLResourceTypeTopic, Name: name,
			Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true,
		}
	}
	server, err := broker.Serve("", 0, slog.New(slog.NewTextHandler(io.Discard, nil)), kfake.EnableSASL(),
		kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "root", "secret"),
		kfake.User("PLAIN", "reader", "secret", allow(kmsg.ACLOperationRead, "in"),
			allow(kmsg.ACLOperationWrite, "out")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	as := func(user string) *topic.Client {
		client, err := topic.Connect(topic.Settings{
			Brokers: []string{server.Address}, ClientID: "test",
			SASL: "plain", User: user, Password: "secret",
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"in", "out"} {
		if err := as("root").Create(ctx, topic.Description{Name: name, Partitions: 1, Replicas: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]topic.Rights{
		"in":  {Known: true, Read: true},
		"out": {Known: true, Write: true},
	} {
		if rights, err := as("reader").Rights(ctx, name); err != nil || rights != want {
			t.Errorf("%s: rights %+v, error %v, not %+v", name, rights, err, want)
		}
	}
}
