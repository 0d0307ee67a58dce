package metric

import (
	"fmt"
	"testing"
)

// Model names invented by a sender cost bounded memory, and those in use are kept.
func TestSharedIsBounded(t *testing.T) {
	shared, ours := NewShared(), Feed{"ours", 4}
	of := ofOneClass(3, 4)
	for i := range 3 {
		of.Z[i*4+i] = 1
	}
	for i := range 3 * sharedFeeds {
		for _, feed := range []Feed{ours, {fmt.Sprint("invented ", i), 4}} {
			shared.Add(feed, of, 2)
			shared.Publish(feed, &Metric{}, nil, &Sketch{})
		}
	}
	if n := len(shared.feeds); n > sharedFeeds || shared.Latest(ours) == nil {
		t.Errorf("%d feeds kept", n)
	}
}
