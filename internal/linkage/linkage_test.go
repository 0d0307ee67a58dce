package linkage

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Merges are those of the definition: at each step the two groups of the largest mean over all pairs.
func TestAverageMergesTheMostAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		n := 1 + random.IntN(12)
		alike := make([]float32, n*n)
		for i := range n {
			for j := range i {
				v := float32(random.Float64()*2 - 1)
				if random.IntN(6) == 0 {
					v = float32(math.Inf(-1))
				}
				alike[i*n+j], alike[j*n+i] = v, v
			}
		}
		limit := random.Float64()*2 - 1
		groups := make([][]int, n)
		for i := range groups {
			groups[i] = []int{i}
		}
		mean := func(a, b []int) float64 {
			sum := 0.
			for _, i := range a {
				for _, j := range b {
					sum += float64(alike[i*n+j])
				}
			}
			return sum / float64(len(a)*len(b))
		}
		for {
			best, a, b := math.Inf(-1), 0, 0
			for i := range groups {
				for j := range i {
					if v := mean(groups[i], groups[j]); v > best {
						best, a, b = v, j, i
					}
				}
			}
			if best < limit || math.IsInf(best, -1) {
				break
			}
			groups[a] = append(groups[a], groups[b]...)
			groups = append(groups[:b], groups[b+1:]...)
		}
		if found := Groups(n, Average(alike, n, nil, limit)); !reflect.DeepEqual(found, groups) {
			t.Fatalf("groups %v, by definition %v", found, groups)
		}
	}
}

// A group that counts for several is as good as its members one by one.
func TestSizesCount(t *testing.T) {
	inf := float32(math.Inf(-1))
	alike := []float32{
		0, .9, .2, .3,
		.9, 0, .5, .6,
		.2, .5, 0, inf,
		.3, .6, inf, 0,
	}
	// the first counts for three: joined with the second it is (3 x .3 + .6) / 4 like the last
	merges := Average(append([]float32(nil), alike...), 4, []float32{3, 1, 1, 1}, .37)
	if len(merges) != 2 || merges[1].From != 3 || math.Abs(float64(merges[1].Alike)-.375) > 1e-6 {
		t.Errorf("merges %v", merges)
	}
	if merges := Average(alike, 4, []float32{3, 1, 1, 1}, .38); len(merges) != 1 {
		t.Errorf("merges %v beyond the limit", merges)
	}
}
