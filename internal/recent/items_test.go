package recent

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// An item comes back from its block as it was, whatever the items before it have, also once others were dropped.
func TestItemsComeBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string { return strings.Repeat("ab", random.IntN(3)) }
	bytes := func() []byte {
		if s := text(); s != "" {
			return []byte(s)
		}
		return nil
	}
	times := []time.Time{
		{},
		time.Unix(0, 0).UTC(),
		time.Date(9999, 1, 2, 3, 4, 5, 6, time.UTC),
		time.Date(0, 1, 1, 0, 0, 0, 9, time.UTC),
	}
	items := make([]Item, 200)
	for i := range items {
		items[i] = Item{
			ID: text(), Name: text(), ItemID: text(), Key: bytes(), Stream: text(), Track: text(), Model: text(), Label: text(),
			Class: text(), Confidence: random.Float64(), Said: text(), SaidConfidence: random.Float64(), Unknown: i%2 == 0,
			Taught: i%3 == 0, Time: times[i%len(times)], Attributes: bytes(), Cause: text(),
		}
	}
	p := New(1 << 20).Open("in/0")
	b := NewBlock(items, nil)
	p.Add(b)
	for i := range items {
		if got := b.item(i); !reflect.DeepEqual(got, items[i]) {
			t.Fatalf("%+v, not %+v", got, items[i])
		}
	}
	p.DropForgotten()
	left := p.blocks[0]
	i := 0
	for _, it := range items {
		if it.Label == "" {
			continue
		}
		if got := left.item(i); !reflect.DeepEqual(got, it) {
			t.Fatalf("after others were dropped: %+v, not %+v", got, it)
		}
		i++
	}
	if i != len(left.items) || i == 0 || i == len(items) {
		t.Errorf("%d items of %d are left, not %d", len(left.items), len(items), i)
	}
}

// A block is made in few pieces, however many items it has.
func TestBlockAllocations(t *testing.T) {
	items, vector := make([]Item, 100), make([]float32, 512)
	for i := range items {
		items[i] = Item{ID: "in/0/123456", Name: "in/0/123456", Key: []byte("door"), Stream: "door", Label: "cup"}
		vector[i] = float32(i)
	}
	const most = 7 // the block, its items and names, texts before and after they are measured, codes, lengths
	if got := testing.AllocsPerRun(20, func() { NewBlock(items, func(int) []float32 { return vector }) }); got > most {
		t.Errorf("%g allocations for 100 items, more than %d", got, most)
	}
}

// Items have the labels that they were given, however many a block has.
func TestABlockOfManyLabels(t *testing.T) {
	items := make([]Item, 3*fewNames)
	for i := range items {
		items[i] = Item{ID: fmt.Sprint(i), Label: fmt.Sprint("label ", i)}
	}
	b := NewBlock(items, nil)
	for i := range items {
		items[i].Label, items[i].Cause = fmt.Sprint("label ", i/2), "lesson"
		b.change(i, &items[i])
	}
	for i := range items {
		if got := b.item(i); got.Label != items[i].Label || got.Cause != "lesson" {
			t.Errorf("item %d is %+v", i, got)
		}
	}
	if want := len(items) + 2; len(b.names) != want { // none, and the cause
		t.Errorf("%d names, not %d", len(b.names), want)
	}
}
