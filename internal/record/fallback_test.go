package record

import (
	"errors"
	"strings"
	"testing"
)

// A result that its topic rejects loses its largest part, then the next, and at last becomes a dead letter.
func TestResultsLoseTheirLargestPartFirst(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	r := &Result{ID: "in/0/1", Attributes: []byte(`"` + long(8000) + `"`), Vector: make([]byte, 9000)}
	item := &Item{Source: Source{"in", 0, 1, -1}, Key: []byte(long(7000)), Vector: []float32{1}}
	out := Out{
		Topic: "out", Key: item.Key, Value: AppendResult(nil, r),
		Headers:  []Header{{"sender", []byte(long(6000))}},
		Fallback: &ResultFallback{Item: item, Result: r, Dead: "dead", Encode: AppendResult},
	}
	size, why := out.Size(), errors.New("too large")
	for _, left := range []string{"vector", "vector,attributes", "vector,attributes,key"} {
		less, ok := out.Fallback.Instead(out, why, 0)
		part, _ := (&Raw{Headers: less.Headers}).Header(LeftOutHeader)
		if !ok || less.Topic != "out" || string(part) != left || less.Size() >= size {
			t.Fatalf("%v, to %s, left out %s of %s, %d bytes", ok, less.Topic, part, left, less.Size())
		}
		out, size = less, less.Size()
	}
	if len(out.Key) != longestKey {
		t.Errorf("a key of %d bytes", len(out.Key))
	}
	out, _ = out.Fallback.Instead(out, why, 0) // the sender's headers
	if again, ok := out.Fallback.Instead(out, why, 0); ok {
		t.Errorf("an ordinary record is made smaller: %d bytes", again.Size())
	}
	dead, ok := out.Fallback.Instead(out, why, NotForSize)
	l, is := ReadLetter(&Raw{Headers: dead.Headers})
	if !ok || dead.Topic != "dead" || !is || l.ID != item.ID() {
		t.Errorf("%v, %+v", ok, l)
	}
	for range 3 { // a dead letter is cut until it is ordinary
		if less, ok := dead.Fallback.Instead(dead, why, 0); ok && less.Size() < dead.Size() {
			dead = less
		}
	}
	if l, is := ReadLetter(&Raw{Headers: dead.Headers}); !is || !l.Truncated || dead.Size() > 2*ordinary {
		t.Errorf("%d bytes, %+v", dead.Size(), l)
	}
}
