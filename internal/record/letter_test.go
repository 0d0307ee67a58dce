package record

import (
	"testing"
	"time"
)

// The answer of a replayed letter has its own id, because any sender may claim to repeat a record. It carries
// the first id, whose position must be before it in its partition.
func TestAReplayedLetterNamesItsFirstID(t *testing.T) {
	d, err := NewDecoder(Options{Dimension: 2})
	if err != nil {
		t.Fatal(err)
	}
	raw := &Raw{
		Topic: "in", Partition: 2, Offset: 10, Value: []byte(`{"id":"a","vector":[1,2]}`),
		Time: time.UnixMilli(5000),
	}
	out := DeadLetter("dead", raw, "why", 0)
	stands := &Raw{Topic: "dead", Partition: 1, Offset: 3, Key: out.Key, Value: out.Value, Headers: out.Headers}
	l, ok := ReadLetter(stands)
	if !ok || l.ID != "in/2/10" || l.Reason != "why" || l.Truncated || l.Position() != "1/3" ||
		!l.Time.Equal(raw.Time) {
		t.Fatalf("%+v", l)
	}
	again, err := l.Replay()
	if err != nil || again.Topic != "in" || again.Partition != 2 {
		t.Fatalf("%+v, %v", again, err)
	}
	for _, c := range []struct {
		partition int32
		offset    int64
		id, first string
	}{{2, 20, "in/2/20", "in/2/10"}, {2, 10, "in/2/10", ""}, {2, 5, "in/2/5", ""}, {1, 20, "in/1/20", ""}} {
		r := &Raw{Topic: "in", Partition: c.partition, Offset: c.offset, Value: again.Value, Headers: again.Headers}
		items, err := d.Decode(t.Context(), r, nil)
		if err != nil || len(items) != 1 || items[0].ID() != c.id || items[0].ReplayOf != c.first ||
			items[0].Source.Offset != c.offset {
			t.Errorf("at %d/%d: %+v, %v", c.partition, c.offset, items, err)
		}
	}
	second := DeadLetter("dead", &Raw{
		Topic: "in", Partition: 2, Offset: 20, Value: again.Value,
		Headers: again.Headers,
	}, "again", 0)
	if l, ok := ReadLetter(&Raw{Topic: "dead", Headers: second.Headers}); !ok || l.ID != "in/2/10" ||
		l.Reason != "again" {
		t.Errorf("a letter of a letter: %+v", l)
	}
	mark := l.Mark()
	if _, ok := ReadLetter(&Raw{Headers: mark.Headers}); ok {
		t.Error("a mark is read as a letter")
	}
	if position, ok := ReplayedLetter(&Raw{Headers: mark.Headers}); !ok || position != "1/3" {
		t.Errorf("marks %q", position)
	}
	item := Item{Source: Source{"in", 0, 4, 7}, Vector: []float32{1, 2}}
	ofItem := ItemLetter(&item, "why", "dead")
	if l, ok := ReadLetter(&Raw{Topic: "dead", Headers: ofItem.Headers}); !ok || l.ID != "in/0/4/7" {
		t.Errorf("an item of a frame: %+v", l)
	}
}
