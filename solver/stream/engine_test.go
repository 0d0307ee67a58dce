package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestEngineForgetsOtherStreams: episodes of other streams that an engine has solved before do not
// change an answer.
func TestEngineForgetsOtherStreams(t *testing.T) {
	preset, err := solver.DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Solver: preset, Warm: true}
	draw := func(r *rand.Rand, class int) []float32 {
		v := make([]float32, 64)
		for i := range v {
			v[i] = .1 * float32(r.NormFloat64())
		}
		v[class] += 3
		return v
	}
	episode := func(r *rand.Rand, n int) []Item {
		items := make([]Item, n)
		for i := range items {
			class := r.IntN(4)
			items[i] = Item{ID: fmt.Sprint(r.Uint32()), Vector: draw(r, class)}
			if r.IntN(20) == 0 {
				items[i].Label = fmt.Sprint(class)
			}
		}
		return items
	}
	answers := func(others uint64) (all []Answer) {
		own, other := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, others))
		labels := &taught.Labels{}
		for i := range 8 {
			labels.Everyone = append(labels.Everyone, taught.Example{ID: fmt.Sprint(i), Label: fmt.Sprint(i % 4), Vector: draw(own, i%4)})
		}
		engine := new(Engine)
		a, b := New("a", settings), New("b", settings)
		for range 25 {
			for range other.IntN(3) {
				if _, _, err := b.Answer(context.Background(), engine, episode(other, 1+other.IntN(30)), labels); err != nil {
					t.Fatal(err)
				}
			}
			list, _, err := a.Answer(context.Background(), engine, episode(own, 1+own.IntN(25)), labels)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, list...)
		}
		return all
	}
	want := answers(0)
	for others := uint64(1); others < 5; others++ {
		if got := answers(others); !reflect.DeepEqual(got, want) {
			t.Errorf("other streams %d: the answers differ", others)
		}
	}
}
