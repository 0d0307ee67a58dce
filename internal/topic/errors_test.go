package topic

import (
	"fmt"
	"testing"

	"github.com/segmentio/kafka-go"
)

// A cluster of which only some brokers are up yet cannot assign a topic's replicas: that passes.
func TestTooFewBrokersYetIsTemporary(t *testing.T) {
	if err := fmt.Errorf("create topic: %w", kafka.InvalidReplicationFactor); !Temporary(err) {
		t.Errorf("%v is final", err)
	}
}
