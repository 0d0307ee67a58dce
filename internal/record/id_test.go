package record

import "testing"

// ParseID returns the source that an id was made from.
func TestParseID(t *testing.T) {
	for _, want := range []Source{{"in", 0, 4, -1}, {"a.b", 1<<31 - 1, 1<<63 - 1, 0}, {"in", 3, 0, 7}} {
		if got, ok := ParseID(want.ID()); !ok || got != want {
			t.Errorf("%s: %+v, %t", want.ID(), got, ok)
		}
	}
}
