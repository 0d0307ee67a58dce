package recent

import (
	"context"
	"errors"
	"testing"
	"time"
)

// While items are compared with examples, of which there may be any number, the store takes other items and
// is read: else all partitions would wait for one preview, or for one label.
func TestComparingHoldsNoLock(t *testing.T) {
	s := New(1 << 20)
	two := func(name string) *Block {
		one := Item{ID: name + "1", Name: name + "1", Label: "cup"}
		other := Item{ID: name + "2", Name: name + "2", Label: "cup"}
		return NewBlock([]Item{one, other}, func(int) []float32 { return []float32{1, 2} })
	}
	p := s.Open("in/0")
	p.Add(two("a"))
	teach := Change{ID: "a1", Label: "mug", Vector: []float32{1, 2}}
	asked := 0
	examples := func(func(Example) bool) {
		asked++
		done := make(chan struct{})
		go func() {
			s.Open("in/1").Add(two("b"))
			s.Each(func(*Item) {})
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Error("an episode waits for the comparison")
		}
	}
	got, err := s.WouldCorrect(t.Context(), []Change{teach}, examples)
	if len(got) != 2 || err != nil || asked != 1 {
		t.Errorf("a preview: %d items, %v, asked %d times", len(got), err, asked)
	}
	if got := p.correct(teach, examples); len(got) != 2 || asked != 2 {
		t.Errorf("a label: %d items, asked %d times", len(got), asked)
	}
	over, end := context.WithCancel(t.Context())
	end()
	got, err = s.WouldCorrect(over, []Change{teach}, examples)
	if got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a visitor who has gone: %v, %v", got, err)
	}
}
