package topic

import (
	"testing"
	"time"
)

func TestADamagedBatchIsLeftAsItIs(t *testing.T) {
	batch := make([]byte, BatchHead)
	batch[atLength+3] = BatchHead - atLength - 4
	before := string(batch)
	if RaiseHighestTime(batch, time.Now(), time.Now()); string(batch) != before {
		t.Error("its checksum is made to agree")
	}
	for short := range len(batch) {
		RaiseHighestTime(batch[:short], time.Now(), time.Now())
	}
}
