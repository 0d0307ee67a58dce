package producer

import (
	"errors"
	"testing"

	"github.com/segmentio/kafka-go"
)

// Of the partitions that a broker does not add, the one that it refuses is named, not one that it left undone.
func TestTheRefusedPartitionIsNamed(t *testing.T) {
	for range 20 { // maps have no order
		err := partitionError(map[string][]kafka.AddPartitionToTxnPartition{
			"state": {{Partition: 0, Error: notAttempted}}, "out": {{Partition: 1, Error: kafka.TopicAuthorizationFailed}},
			"dead": {{Partition: 0, Error: notAttempted}},
		})
		if !errors.Is(err, kafka.TopicAuthorizationFailed) {
			t.Fatal(err)
		}
	}
	err := partitionError(map[string][]kafka.AddPartitionToTxnPartition{"out": {{Error: notAttempted}}})
	if !errors.Is(err, errNotAttempted) {
		t.Error(err)
	}
	if err := partitionError(map[string][]kafka.AddPartitionToTxnPartition{"out": {{}}}); err != nil {
		t.Error(err)
	}
}
