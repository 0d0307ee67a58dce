package metric

import (
	"fmt"
	"testing"
)

// Model names invented by a sender cost bounded memory, and those in use are kept.
func TestSharedIsBounded(t *testing.T) {
	shared, ours := NewShared(), Feed{"ours", 4}
	z, soft := []float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, []float32{1, 1, 1}
	for i := range 3 * sharedFeeds {
		for _, feed := range []Feed{ours, {fmt.Sprint("invented ", i), 4}} {
			shared.Add(feed, z, soft, 1)
			shared.Publish(feed, &Metric{})
		}
	}
	if n := len(shared.feeds); n > sharedFeeds || shared.Latest(ours) == nil {
		t.Errorf("%d feeds kept", n)
	}
}
