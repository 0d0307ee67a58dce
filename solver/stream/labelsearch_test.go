package stream

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// labelsOf are the labels of the examples by their ids.
func labelsOf(examples map[string]Example) *Labels {
	l := &Labels{Stream: map[string][]Example{}}
	for _, id := range slices.Sorted(maps.Keys(examples)) {
		l.Stream["s"] = append(l.Stream["s"], examples[id])
	}
	return l
}

// Labels that follow others find the same examples as labels that are worked out from the start, whatever was
// taught, corrected and forgotten in between.
func TestLabelsThatFollowOthersFindTheSame(t *testing.T) {
	const d, start, rounds = 8, 200, 100
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 5))
		vector := func() []float32 {
			v := make([]float32, d)
			for i := range v {
				v[i] = float32(random.NormFloat64())
			}
			return v
		}
		examples := map[string]Example{}
		teach := func(id string) {
			examples[id] = Example{ID: id, Label: fmt.Sprint("class-", random.IntN(50)), Vector: vector()}
		}
		for i := range start {
			teach(fmt.Sprint("e", i))
		}
		labels := labelsOf(examples)
		queries := [][]float32{vector(), vector()}
		for round := range rounds {
			for range 1 + random.IntN(5) {
				switch id := fmt.Sprint("e", random.IntN(2*start)); random.IntN(4) {
				case 0:
					delete(examples, id)
				case 1: // the same example again, in memory of its own
					if e, ok := examples[id]; ok {
						e.Vector = slices.Clone(e.Vector)
						examples[id] = e
					}
				default:
					teach(id)
				}
			}
			next := labelsOf(examples)
			next.Follow(labels)
			if random.IntN(3) == 0 {
				continue // one that nobody ever used
			}
			labels = next
			got, want := labels.of("s").own, newExampleSet(labels.Stream["s"], nil)
			if got.sum != want.sum || !slices.Equal(got.sums, want.sums) {
				t.Fatalf("seed %d, round %d: other sums", seed, round)
			}
			near, err := got.searched().nearest(got, queries, candidatesEach)
			if err != nil {
				t.Fatal(err)
			}
			truly, err := want.searched().nearest(want, queries, candidatesEach)
			if err != nil {
				t.Fatal(err)
			}
			for i := range queries {
				if !slices.Equal(near[i], truly[i]) {
					t.Fatalf("seed %d, round %d: %v near, truly %v", seed, round, near[i], truly[i])
				}
			}
		}
	}
}

// What one more label costs does not depend on how many there are: its own content is looked at, and few
// examples are indexed again.
func TestALabelCostsTheSameHoweverManyThereAre(t *testing.T) {
	const more = 120
	random := rand.New(rand.NewPCG(1, 6))
	example := func(i int) Example {
		v := make([]float32, 4)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return Example{ID: fmt.Sprintf("e%06d", i), Label: fmt.Sprint("class-", i), Vector: v}
	}
	for _, n := range []int{5000, 20_000} {
		var list []Example
		for i := range n {
			list = append(list, example(i))
		}
		labels := &Labels{Stream: map[string][]Example{"s": list}}
		labels.of("s").own.searched()
		hashed, indexed := 0, 0
		for i := range more {
			list = append(list[:len(list):len(list)], example(n+i))
			if i%4 == 0 { // one of the others is corrected
				j := random.IntN(n)
				list[j] = example(j)
			}
			next := &Labels{Stream: map[string][]Example{"s": list}}
			next.Follow(labels)
			labels = next
			own := labels.of("s").own
			hashed, indexed = hashed+own.hashed, indexed+own.indexed
		}
		changes := more + more/4
		if most := changes * (bits.Len(uint(n)) + 4); hashed != changes || indexed > most {
			t.Errorf("%d labels beside %d: %d looked at, %d indexed, at most %d expected",
				changes, n, hashed, indexed, most)
		}
		t.Logf("%d labels beside %d: %d looked at, %d indexed", changes, n, hashed, indexed)
	}
}
