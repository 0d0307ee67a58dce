package intake

import (
	"log/slog"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
)

// Unreadable records are kept whole up to a rate. Beyond it each still has a letter, cut short. Letters that
// could be replayed are never cut.
func TestLettersHaveARate(t *testing.T) {
	s := &Settings{Cut: telemetry.NewSet().Counter("cut", "letters")}
	now := time.Now()
	bytes := func(fault record.Fault, size int, at time.Time) int {
		r := &consumer.Record{
			Raw: &record.Raw{Value: make([]byte, size)}, Rejected: &record.Rejection{Fault: fault},
		}
		return len(s.letter(slog.New(slog.DiscardHandler), r, at).Value)
	}
	total := 0
	for range 1000 {
		total += bytes(record.TooLarge, 64<<10, now)
	}
	if total < letterRate || total > 2*letterRate {
		t.Errorf("%d bytes at once", total)
	}
	if got := bytes(record.TooLarge, 64<<10, now); got != letterStart {
		t.Errorf("a letter of %d bytes", got)
	}
	if got := bytes(record.Unreadable, 1<<20, now); got != letterStart {
		t.Errorf("a letter of %d bytes that cannot be read", got)
	}
	if got := bytes(record.Unreadable, letterUseful, now); got != letterUseful {
		t.Errorf("a small letter of %d bytes", got)
	}
	if got := bytes(record.WrongDimension, 64<<10, now); got != 64<<10 {
		t.Errorf("a letter that can be replayed, of %d bytes", got)
	}
	if got := bytes(record.Unreadable, 1<<20, now.Add(time.Minute)); got != 1<<20 {
		t.Errorf("a minute later a letter of %d bytes", got)
	}
}
