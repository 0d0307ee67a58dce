package labels

import (
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Of one order's records the latest counts, in whatever order partitions are read. The number of
// orders is bounded.
func TestOrdersKept(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	pause := record.Order{Stream: "a"}
	for _, swapped := range []bool{false, true} {
		l := newHistory(2, nil, 0)
		steps := []func(){
			func() { l.add(0, 1, at(1), record.Label{Order: &pause}) },
			func() { l.add(1, 1, at(2), record.Label{Forget: pause.Key()}) },
		}
		if swapped {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			step()
		}
		if l.standing().PausesStream("a") {
			t.Errorf("swapped %t: what was taken back holds", swapped)
		}
	}
	l := newHistory(1, nil, 0)
	l.add(0, 0, at(0), record.Label{Order: &pause})
	for i := range int64(3 * mostOrders) {
		l.add(0, i+1, at(i), record.Label{Order: &record.Order{Skip: fmt.Sprintf("in/0/%d", i)}})
	}
	if o := l.standing(); len(l.given) > mostOrders || !o.PausesStream("a") ||
		!o.Skips(record.Source{Topic: "in", Offset: 3*mostOrders - 1, Object: 7}) {
		t.Errorf("%d orders are kept", len(l.given))
	}
}
