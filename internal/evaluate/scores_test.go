package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestScoresOnKnownPartitions(t *testing.T) {
	truth := []int32{0, 0, 0, 1, 1, 1}
	renamed := []int32{7, 7, 7, 3, 3, 3}
	if NMI(truth, renamed) != 1 || ARI(truth, renamed) != 1 || ClusterAccuracy(truth, renamed) != 1 {
		t.Errorf("a renamed partition is the same one: %v %v %v", NMI(truth, renamed), ARI(truth, renamed),
			ClusterAccuracy(truth, renamed))
	}
	one := make([]int32, 6)
	if NMI(truth, one) != 0 || ARI(truth, one) != 0 || ClusterAccuracy(truth, one) != .5 {
		t.Errorf("one cluster says nothing: %v %v %v", NMI(truth, one), ARI(truth, one),
			ClusterAccuracy(truth, one))
	}
	// Two classes of three, the third item in the wrong cluster: by hand, pairs 2+... of C(6,2)=15.
	answer := []int32{0, 0, 1, 1, 1, 1}
	// both = 1 + 0 + 3 = 4; truth pairs 6, answer pairs 1+6 = 7; expected 42/15 = 2.8
	if want := (4 - 2.8) / (6.5 - 2.8); !near(ARI(truth, answer), want) {
		t.Errorf("ARI %v, want %v", ARI(truth, answer), want)
	}
	// I = 1/3 ln 2 + 1/6 ln(1/2) + 1/2 ln(3/2); H = ln 2, -(1/3 ln 1/3 + 2/3 ln 2/3)
	mutual := math.Log(2)/3 - math.Log(2)/6 + math.Log(1.5)/2
	entropies := (math.Log(2) + math.Log(3)/3 + math.Log(1.5)*2/3) / 2
	if want := mutual / entropies; !near(NMI(truth, answer), want) {
		t.Errorf("NMI %v, want %v", NMI(truth, answer), want)
	}
	if got := ClusterAccuracy(truth, answer); !near(got, 5./6) {
		t.Errorf("accuracy %v, want 5/6", got)
	}
}

func TestAssignIsTheBestOfAllPermutations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 1 + random.IntN(6)
		cost := make([][]float64, n)
		for i := range cost {
			cost[i] = make([]float64, n)
			for j := range cost[i] {
				cost[i][j] = float64(random.IntN(20) - 10)
			}
		}
		var got float64
		used := map[int]bool{}
		for i, j := range assign(cost) {
			got += cost[i][j]
			used[j] = true
		}
		if best := cheapest(cost, 0, 0); len(used) != n || got != best {
			t.Errorf("%v: %v columns, cost %v, best %v", cost, len(used), got, best)
		}
	}
}

// cheapest tries every permutation of the rows from row on, without the columns in taken.
func cheapest(cost [][]float64, row int, taken uint) float64 {
	if row == len(cost) {
		return 0
	}
	best := math.Inf(1)
	for j := range cost {
		if taken&(1<<j) == 0 {
			best = min(best, cost[row][j]+cheapest(cost, row+1, taken|1<<j))
		}
	}
	return best
}
