package corrections

import (
	"fmt"
	"testing"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/solver/stream"
)

// An episode that is learned again after a change of owner costs the same however many recent items there are: ten
// thousand of them come at once.
func TestLearnedAgainLooksAtItsOwnItems(t *testing.T) {
	const others = 2000
	store := recent.New(8 << 20)
	r := &Partition{recent: store.Open("in/0"), earlier: &earlier{called: map[string]string{}}}
	answered := func(i int) *extension.Answered {
		return &extension.Answered{
			Episode: &consumer.Episode{Items: []record.Item{{Stream: "door", Vector: []float32{1, 2, 3}}}},
			Keys:    []string{fmt.Sprint("item:in/0/", i)}, Answers: []stream.Answer{{Label: "cup"}},
		}
	}
	for i := range others {
		r.Answered(answered(i))
	}
	const rounds = 20
	again := answered(others)
	allocations := testing.AllocsPerRun(rounds, func() {
		r.earlier.called[record.ResultOf(again.Keys[0])] = "cup"
		r.Answered(again)
	})
	if allocations > others/10 {
		t.Errorf("%.0f allocations beside %d items", allocations, others)
	}
	r.earlier.called[record.ResultOf(again.Keys[0])] = "" // forgotten
	before, _ := store.Reach()
	if r.Answered(again); before != others+rounds+1 {
		t.Errorf("%d items", before)
	}
	if after, _ := store.Reach(); after != before {
		t.Errorf("%d items, of %d: the forgotten one is still there", after, before)
	}
}
