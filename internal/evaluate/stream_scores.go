package evaluate

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
)

// auroc is the probability that a positive item has a higher score than a negative one; ties count half. NaN
// if either kind is missing.
func auroc(scores []float64, positive []bool) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case scores[a] < scores[b]:
			return -1
		case scores[a] > scores[b]:
			return 1
		}
		return 0
	})
	var ranks, positives float64
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && scores[order[to]] == scores[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			if positive[i] {
				ranks += float64(from+to-1)/2 + 1
				positives++
			}
		}
		from = to
	}
	negatives := float64(len(scores)) - positives
	if positives == 0 || negatives == 0 {
		return math.NaN()
	}
	return (ranks - positives*(positives+1)/2) / (positives * negatives)
}

// foundAt returns the share of positive items above the score that the given share of negative items exceeds.
// NaN if either kind is missing.
func foundAt(scores []float64, positive []bool, share float64) float64 {
	var others []float64
	found, all := 0., 0.
	for i, is := range positive {
		if !is {
			others = append(others, scores[i])
		}
	}
	if len(others) == 0 {
		return math.NaN()
	}
	slices.Sort(others)
	limit := vector.Quantile(others, 1-share)
	for i, is := range positive {
		if is {
			if all++; scores[i] > limit {
				found++
			}
		}
	}
	return found / all
}

// calibrationBins is the usual number of equal-width bins.
const calibrationBins = 15

// ece is the expected calibration error: the mean difference between confidence and share of right answers,
// over bins of confidence weighted by their items.
func ece(confidence []float64, right []bool) float64 {
	var sum, hits, count [calibrationBins]float64
	for i, c := range confidence {
		bin := min(calibrationBins-1, max(0, int(c*calibrationBins)))
		sum[bin] += c
		count[bin]++
		if right[i] {
			hits[bin]++
		}
	}
	var e float64
	for bin := range count {
		e += math.Abs(sum[bin] - hits[bin])
	}
	return e / float64(len(confidence))
}

// PairF1 is the harmonic mean of precision and recall over pairs of items in one cluster.
func PairF1(truth, answer []int32) float64 {
	both, t, a := countPairs(truth, answer).together()
	if t+a == 0 {
		return 1
	}
	return 2 * both / (t + a)
}

// IDSwitches counts how often an identity's id differs from that of its last appearance.
func IDSwitches(truth, answer []int32) int {
	last := map[int32]int32{}
	switches := 0
	for i, t := range truth {
		if id, ok := last[t]; ok && id != answer[i] {
			switches++
		}
		last[t] = answer[i]
	}
	return switches
}
