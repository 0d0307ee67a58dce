package topic

import (
	"fmt"
	"testing"

	"github.com/segmentio/kafka-go"
)

// A cluster with only some brokers up cannot assign a topic's replicas, which is a temporary error.
func TestTooFewBrokersYetIsTemporary(t *testing.T) {
	if err := fmt.Errorf("create topic: %w", kafka.InvalidReplicationFactor); !Temporary(err) {
		t.Errorf("%v is final", err)
	}
}
