package communities

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// groups is a graph of groups of twelve points, all tied to each other, with weighted ties between the first
// points of groups.
func groups(count int, ties map[[2]int]float32) *index.Affinity {
	const size = 12
	a := &index.Affinity{Offsets: []int64{0}}
	for p := range count * size {
		for q := range count * size {
			w := float32(0)
			if p/size == q/size && p != q {
				w = 1
			} else if p%size == 0 && q%size == 0 {
				w = max(ties[[2]int{p / size, q / size}], ties[[2]int{q / size, p / size}])
			}
			if w > 0 {
				a.Columns, a.Weights = append(a.Columns, int32(q)), append(a.Weights, w)
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Columns)))
	}
	return a
}

// Communities without labels join the labelled ones to which they are tied most. Two classes are never
// joined, however strong their tie, and points without ties have no class.
func TestLabelled(t *testing.T) {
	for name, c := range map[string]struct {
		ties  map[[2]int]float32
		class map[int]int32 // of the first point of a group
		want  []int32       // class of each group
	}{
		"stronger tie": {
			map[[2]int]float32{{0, 1}: .9, {1, 2}: .2, {2, 3}: .9}, map[int]int32{0: 1, 3: 0}, []int32{1, 1, 0, 0},
		},
		"across":    {map[[2]int]float32{{0, 1}: 1, {1, 2}: .1}, map[int]int32{0: 0, 1: 1}, []int32{0, 1, 1}},
		"alone":     {map[[2]int]float32{{0, 1}: .5}, map[int]int32{0: 1, 2: 0}, []int32{1, 1, 0, -1}},
		"one class": {map[[2]int]float32{{0, 1}: .5, {1, 2}: .5}, map[int]int32{0: 0, 2: 0}, []int32{0, 0, 0}},
	} {
		a := groups(len(c.want), c.ties)
		class := slices.Repeat([]int32{-1}, a.N())
		for group, y := range c.class {
			class[12*group] = y
		}
		for p, y := range Labelled(a, class, 2, 1) {
			if y != c.want[p/12] {
				t.Errorf("%s: point %d of group %d has class %d, not %d", name, p, p/12, y, c.want[p/12])
			}
		}
	}
}

// If a class is in no community the most frequent one, the result is nil.
func TestLabelledOfAClassInAnother(t *testing.T) {
	a := groups(40, nil) // more points than remaining communities
	class := slices.Repeat([]int32{-1}, a.N())
	class[0], class[1], class[2], class[12] = 0, 1, 0, 0
	if got := Labelled(a, class, 2, 1); got != nil {
		t.Errorf("%v, not nil", got)
	}
}

// In any graph, a community with labelled points gets the class of most of them.
func TestLabelledKeepsMajorities(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		count, k := 2+random.IntN(50), 1+random.IntN(4)
		ties := map[[2]int]float32{}
		for range 2 * count {
			if one, other := random.IntN(count), random.IntN(count); one != other {
				ties[[2]int{one, other}] = random.Float32()
			}
		}
		a := groups(count, ties)
		class, want := slices.Repeat([]int32{-1}, a.N()), map[int]int32{}
		for range count {
			group := random.IntN(count)
			y := int32(random.IntN(k))
			if _, twice := want[group]; twice {
				continue
			}
			want[group] = y
			for p := range 3 {
				class[12*group+p] = y
			}
		}
		for p, y := range Labelled(a, class, k, seed) {
			if of, labelled := want[p/12]; labelled && y != of {
				t.Errorf("seed %d: point %d has class %d, its group's labels %d", seed, p, y, of)
			}
		}
	}
}
