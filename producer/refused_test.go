package producer

import (
	"errors"
	"testing"

	"github.com/segmentio/kafka-go"
)

// Of the partitions that a broker does not add, the error names the one that it refuses, not one that
// it did not attempt.
func TestTheRefusedPartitionIsNamed(t *testing.T) {
	for range 20 { // map order is random
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
