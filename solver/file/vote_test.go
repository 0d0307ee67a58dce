package file

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The rate of a further row above the limit is that asked for, however few rows were held out.
func TestLimitKeepsItsRate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{20, 24, 40, 100} {
		const draws, rate = 4000, .05
		above := 0.
		for range draws {
			v := verdict{rate: rate, at: make([]float32, n)}
			for i := range v.at {
				v.at[i] = random.Float32()
			}
			slices.Sort(v.at)
			above += (1 - v.rank()) / draws
		}
		if math.Abs(above-rate) > .005 {
			t.Errorf("%d held rows: %.3f of further ones are above the limit, not %g", n, above, rate)
		}
	}
}

// Held rows say that up to half of a file is of no class. If their scores are among the lowest of the file, as those of
// examples of one moment are, they do not say that nearly all of it is.
func TestLimitOfExamplesOfOneMoment(t *testing.T) {
	limit := func(most float32) float64 {
		v := verdict{rate: .05}
		for i := range 100 {
			v.at = append(v.at, most*float32(i)/99)
		}
		return v.rank()
	}
	for _, most := range []float32{1, .75, .5} {
		if got := limit(most); math.Abs(got-.95*float64(most)) > .01 {
			t.Errorf("held rows up to rank %g: limit at %.3f", most, got)
		}
	}
	if got := limit(.02); got < .9 {
		t.Errorf("held rows up to rank .02: limit at %.3f", got)
	}
}
