package topic_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// Brokers that fail to say what they support are not taken for old ones: what was decided about a transaction is asked
// once, and an owner that goes on without it would give up what is committed.
func TestWhatBrokersSupportIsNotGuessed(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	server.Cluster.ControlKey(int16(kmsg.ApiVersions), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ApiVersionsResponse)
		answer.ErrorCode = kerr.RequestTimedOut.Code
		return answer, nil, true
	})
	if _, _, err := client.CommittedLast(t.Context(), "id"); err == nil {
		t.Error("no error")
	}
}
