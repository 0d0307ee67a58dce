package pipeline

import (
	"testing"
)

// A partition does not read ahead while the output does not take what is answered.
func TestReadingWaitsForTheOutput(t *testing.T) {
	const most = 8 << 20
	p := owned(&Stage{options: Options{Process: Process{InFlight: most}}}, nil)
	for inFlight, full := range map[int64]bool{0: false, most - 1: false, most: true} {
		if p.ledger.inFlight = inFlight; p.full() != full {
			t.Errorf("full %v with %d bytes in flight", p.full(), inFlight)
		}
	}
}
