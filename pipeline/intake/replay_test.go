package intake

import (
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

func item(stream string, offset int64) *record.Item {
	return &record.Item{Stream: stream, Source: record.Source{Offset: offset, Object: -1}}
}

func answeredEpisode(stream string, first, last int64) state.Episode {
	return state.Episode{Stream: record.StreamID{Name: stream}, First: record.Start(first), Last: record.Start(last)}
}

// A replay passes on an episode when its last item is there, each stream's in order, and does not wait for
// items that the log no longer holds.
func TestReplay(t *testing.T) {
	r := newReplay()
	r.from, r.decided = record.Start(6), record.Start(8)
	r.add(answeredEpisode("a", 0, 2), nil)
	r.add(answeredEpisode("a", 3, 5), nil)
	r.add(answeredEpisode("b", 1, 1), nil)
	var learned []int64
	for _, it := range []*record.Item{item("a", 0), item("b", 1), item("a", 2), item("a", 4), item("c", 5), item("a", 7)} {
		for _, e := range r.take(it) {
			for i := range e.items {
				if e.items[i].Stream != e.Stream.Name {
					t.Errorf("an item of %s in an episode of %s", e.items[i].Stream, e.Stream.Name)
				}
				learned = append(learned, e.items[i].Source.Offset)
			}
		}
	}
	want := []int64{1, 0, 2, 4}
	if len(learned) != len(want) || r.left != 0 {
		t.Fatalf("learned %v, %d left", learned, r.left)
	}
	for i := range want {
		if learned[i] != want[i] {
			t.Errorf("learned %v, not %v", learned, want)
		}
	}
	if !r.covers(record.Start(5)) || r.covers(record.Start(6)) || r.over(record.Start(7)) || !r.over(record.Start(8)) {
		t.Error("the replay does not know where it is")
	}
}
