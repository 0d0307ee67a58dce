package producer_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// Brokers whose transaction.max.timeout.ms is lower than many records together need refuse them before any is written:
// the setting is named.
func TestBrokersAllowNoLongTransaction(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "labels", 1, nil)
	server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.InvalidTransactionTimeout, Count: -1,
	})
	records := []record.Out{{Topic: name, Value: []byte("a")}, {Topic: name, Value: []byte("b")}}
	err := producer.WriteTogether(t.Context(), client, "labels/"+name, records)
	if err == nil || !strings.Contains(err.Error(), "transaction.max.timeout.ms") {
		t.Errorf("refused with %v", err)
	}
	if end, err := client.Offset(t.Context(), name, 0, topic.Latest, false); err != nil || end != 0 {
		t.Errorf("%d records are written: %v", end, err)
	}
}
