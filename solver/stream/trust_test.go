package stream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// gathered draws items about means with this deviation in each direction.
func gathered(random *rand.Rand, n, k, d int, deviation float64) (items, means []float32) {
	for range k * d {
		means = append(means, float32(random.NormFloat64()))
	}
	for range n {
		c := random.IntN(k)
		for j := range d {
			items = append(items, means[c*d+j]+float32(deviation*random.NormFloat64()))
		}
	}
	return items, means
}

// The concentration of items about means is 1 / (2 deviation^2), also where means are alike or on one line, and in
// more directions than they differ in.
func TestConcentrationIsThatOfTheItems(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{3, 40} {
		for _, deviation := range []float64{.1, .3} {
			for _, twice := range []bool{false, true} {
				items, means := gathered(random, 400, 5, d, deviation)
				if twice {
					copy(means[d:2*d], means[:d])
				}
				squares, dimension := within(items, means, d)
				if want := min(d, 4); dimension > want || !twice && dimension != want {
					t.Errorf("%d dimensions: means differ in %d", d, dimension)
				}
				tau, ok := mostLikelyTau(squares, dimension)
				if want := 1 / (2 * deviation * deviation); !twice && (!ok || math.Abs(tau/want-1) > .2) {
					t.Errorf("%d dimensions, deviation %g: %g, not %g", d, deviation, tau, want)
				}
			}
		}
	}
}

// Items that are all the same, or at one mean, have no concentration that is a number.
func TestNoConcentration(t *testing.T) {
	d := 4
	same := make([]float32, 3*d)
	if _, ok := mostLikelyTau(within(make([]float32, 5*d), same, d)); ok {
		t.Error("means that do not differ have a concentration")
	}
	_, means := gathered(rand.New(rand.NewPCG(1, 1)), 0, 3, d, 0)
	if tau, ok := mostLikelyTau(within(append([]float32(nil), means...), means, d)); ok && !(tau < math.Inf(1)) {
		t.Errorf("items at their means have the concentration %g", tau)
	}
}

// Where items lie elsewhere than the examples of their classes, answers are less sure than where they do not.
func TestItemsFarFromExamplesAreTrustedLess(t *testing.T) {
	sure := func(away float32) float64 {
		f := newCamera(7, 6, 24, .3)
		s, e := New("cam", settings(t)), new(Engine)
		labels := f.labels(3)
		random, sum, count := rand.New(rand.NewPCG(5, 5)), 0., 0.
		for range 4 {
			items, _ := f.episode(60, 0)
			for i := range items {
				for j := range items[i].Vector {
					items[i].Vector[j] += away * float32(random.NormFloat64())
				}
			}
			answers, _ := answer(t, s, e, items, labels)
			for _, a := range answers {
				sum, count = sum+a.Confidence, count+1
			}
		}
		return sum / count
	}
	if near, far := sure(0), sure(1); !(far < near-.2) {
		t.Errorf("confidence %g near the examples, %g far from them", near, far)
	}
}
