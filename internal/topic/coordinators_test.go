package topic_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A coordinator is asked for once, and again when it is forgotten because it has moved.
func TestACoordinatorIsAskedForOnce(t *testing.T) {
	server := brokertest.Embedded(t)
	for range 2 {
		if _, _, err := server.Cluster.AddNode(-1, 0); err != nil {
			t.Fatal(err)
		}
	}
	var asked atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	k, coordinators := brokertest.Connect(t, []string{server.Address}).Coordinators()
	begin := func() error {
		answer, err := k.InitProducerID(ctx, &kafka.InitProducerIDRequest{
			Addr: k.Addr, TransactionalID: "mine", TransactionTimeoutMs: 10_000, ProducerID: -1, ProducerEpoch: -1,
		})
		if err != nil {
			return err
		}
		return answer.Error
	}
	for range 3 {
		if err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked for %d times", n)
	}
	moved := false
	for range 50 {
		server.Cluster.RehashCoordinators()
		err := begin()
		if err == nil {
			continue // to the same broker
		}
		moved = true
		if !errors.Is(err, kafka.NotCoordinatorForGroup) {
			t.Fatal(err)
		}
		coordinators.Forget()
		if err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	if !moved {
		t.Error("the coordinator has never moved")
	}
}
