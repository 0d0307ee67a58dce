package intake

import (
	"testing"
	"time"
)

// A clock that is set back does not go back here; one that is set ahead is followed.
func TestTheClockIsSet(t *testing.T) {
	last := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, play := range []struct{ clock, want time.Duration }{
		{time.Second, time.Second}, {-3 * time.Hour, time.Second}, {3 * time.Hour, 3 * time.Hour},
	} {
		if got := later(last, last.Add(play.clock), time.Second).Sub(last); got != play.want {
			t.Errorf("a second later the clock shows %v more, and it is taken for %v, want %v", play.clock, got, play.want)
		}
	}
}
