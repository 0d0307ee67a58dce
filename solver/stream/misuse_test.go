package stream

import (
	"context"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// nil labels are none, in every call, and a stream that New did not make says so.
func TestZeroValues(t *testing.T) {
	var none *taught.Labels
	if none.Len() != 0 {
		t.Error("nil labels have a length")
	}
	for range none.All() {
		t.Error("nil labels hold an example")
	}
	milk := taught.Example{ID: "a", Label: "milk", Vector: []float32{1, 2}}
	one := none.With(taught.Changes{Examples: []taught.Change{{Example: milk}}})
	if one.Len() != 1 || none.Len() != 0 {
		t.Errorf("%d examples after the first one, %d before", one.Len(), none.Len())
	}
	made := Stream{Name: "by hand"}
	_, _, err := made.Answer(context.Background(), nil, []Item{{Vector: []float32{1, 2}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "by hand: made by neither New nor Restore") {
		t.Error(err)
	}
}
