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
			v, at := calibration{rate: rate}, make([]float32, n)
			for i := range at {
				at[i] = random.Float32()
			}
			slices.Sort(at)
			v.at = at
			above += (1 - v.rank(at)) / draws
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
		v, at := calibration{rate: .05}, make([]float32, 1000)
		for i := range at {
			at[i] = most * float32(i) / 999
		}
		v.at = at
		return v.rank(at)
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

// Held rows are as many of each class; the limit is that of the file, which has more rows of some.
func TestLimitWeighsClasses(t *testing.T) {
	v := calibration{rate: .05, classes: 2}
	for i := range 1000 {
		v.of, v.at = append(v.of, int32(i%2)), append(v.at, .2*float32(i%2)+.6*float32(i)/999)
	}
	limit := func(ofSecond int) float64 {
		class, labels := make([]int32, 1000), make([]int32, 1000)
		for p := range labels {
			if class[p] = -1; p < ofSecond {
				labels[p] = 1
			}
		}
		return v.rank(v.ranks(class, &Result{Labels: labels}))
	}
	if few, many := limit(10), limit(990); math.Abs(few-.57) > .02 || math.Abs(many-.77) > .02 {
		t.Errorf("limits at %.3f and %.3f", few, many)
	}
}

// Few held rows move the limit less than many from the quantile of the file.
func TestLimitOfFewHeldRows(t *testing.T) {
	last := .95
	for _, n := range []int{20, 60, 200, 1000} {
		v := calibration{rate: .05}
		for i := range n {
			v.at = append(v.at, .25+.25*float32(i)/float32(n-1))
		}
		at := v.rank(v.at)
		if at >= last {
			t.Errorf("%d held rows: limit at %.3f, with fewer at %.3f", n, at, last)
		}
		last = at
	}
	if last > .52 {
		t.Errorf("limit at %.3f of 1,000 held rows up to rank .5", last)
	}
}

// Held rows whose scores are among the lowest of the file are of other moments: that they are all right does not make the
// file's rows sure.
func TestConfidenceOfExamplesOfOneMoment(t *testing.T) {
	sure := func(rank float32) float32 {
		v := calibration{classes: 2, weights: []float64{8}, at: []float32{rank, rank}}
		o := &solutions{answers: []answer{{class: []int32{1}, sure: []float32{.3}}}, second: []int32{0}, guide: 1}
		r := &Result{UnknownScore: []float32{1}}
		v.label(o, []int32{-1}, r)
		return r.Confidence[0]
	}
	if same, other := sure(.5), sure(.01); same < .95 || other > .4 {
		t.Errorf("confidence %.2f if held rows are like the file, %.2f if not", same, other)
	}
}

// Held rows that an answer names right make it count more, and held rows that it names wrong less. Rows of a support do not
// say which answer is better, only how much all count.
func TestHeldRowsSayHowMuchVotesWeigh(t *testing.T) {
	for _, placed := range []bool{true, false} {
		for right := range 3 { // of two answers
			held := slices.Repeat([]heldRow{{truth: 4, class: []int32{4, 4}, sure: []float32{.5, .5}, placed: placed}}, 50)
			for _, row := range held[:1] { // all share its answers
				for j := range 2 - right {
					row.class[j] = 7
				}
			}
			prior := []float64{3, 1}
			weights, losses := fit(held, prior, 10)
			for j, w := range weights {
				better := j >= 2-right
				if !placed {
					better = right == 2
				}
				if (w > prior[j]) != better {
					t.Errorf("%d of the answers are right, in the file: %t: %d weighs %g, %g before", right, placed, j, w, prior[j])
				}
			}
			if small := losses[0] < math.Log(10); small != (right == 2 || right == 1 && placed) && (right != 1 || placed) {
				t.Errorf(
					"%d of the answers are right, in the file: %t: minus the logarithm of the likelihood is %g",
					right,
					placed,
					losses[0],
				)
			}
		}
	}
}
