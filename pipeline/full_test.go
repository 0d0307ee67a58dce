package pipeline

import (
	"testing"
)

// A partition does not read ahead while the output does not take what is answered.
func TestReadingWaitsForTheOutput(t *testing.T) {
	const most = 8 << 20
	p := owned(&Stage{options: Options{Process: Process{InFlight: most}}}, nil)
	for _, more := range []int64{0, most - 1, 1} {
		p.ledger.Expect(jobOf(more, nil))
		if inFlight := p.ledger.InFlight(); p.full() != (inFlight == most) {
			t.Errorf("full %v with %d bytes in flight", p.full(), inFlight)
		}
	}
}
