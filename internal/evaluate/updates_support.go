package evaluate

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Two updates for batches that hold few of the classes, by their papers: PADDLE (Martin, Boudiaf, Chouzenoux,
// Pesquet, Ben Ayed 2022) is k-means from the labelled rows with a penalty for each class in use; alpha-TIM
// (Veilleux, Boudiaf, Piantanida, Ben Ayed 2021) fits prototypes by gradient descent so that answers are
// certain and, by an entropy that tolerates imbalance, spread over the classes.
const (
	PADDLE   = "paddle"
	AlphaTIM = "alpha-tim"
)

// The numbers of the papers' own code.
const (
	paddleSteps    = 1000
	paddleSettled  = 1e-5 // the steps end once an answer changes by less in the mean
	timTemperature = 15
	timSteps       = 1000
	timRate        = 1e-4
)

// sums returns the sum of each class's labelled rows, and their number.
func sums(rows []float32, d int, labels []int32, k int) (sum, count []float32) {
	sum, count = make([]float32, k*d), make([]float32, k)
	for i, c := range labels {
		if c >= 0 {
			count[c]++
			kernel.Axpy(1, rows[i*d:i*d+d], sum[int(c)*d:int(c)*d+d])
		}
	}
	return sum, count
}

// divided divides each row of d values by its count, or sets it to 0.
func divided(sum, count []float32, d int) []float32 {
	for c, n := range count {
		kernel.Scale(1/max(n, 1e-12), sum[c*d:c*d+d])
	}
	return sum
}

// negativeHalfDistances returns minus half the squared distance of each row to each prototype.
func negativeHalfDistances(rows, means []float32, n, k, d int) []float32 {
	out := make([]float32, n*k)
	kernel.Products(out, rows, means, n, k, d)
	for i := range n {
		x := rows[i*d : i*d+d]
		for c := range k {
			w := means[c*d : c*d+d]
			out[i*k+c] -= (kernel.Dot(x, x) + kernel.Dot(w, w)) / 2
		}
	}
	return out
}

// mostLikely returns the class with the highest score in each row, and the label of labelled rows.
func mostLikely(scores []float32, labels []int32, k int) []int32 {
	out := slices.Clone(labels)
	for i, y := range labels {
		if row := scores[i*k : i*k+k]; y < 0 {
			out[i] = int32(slices.Index(row, slices.Max(row)))
		}
	}
	return out
}

// paddle scales each column by its range in the batch, as the paper's code does.
func paddle(rows []float32, d int, labels []int32, k int) []int32 {
	var at []int // the batch's rows
	for i, y := range labels {
		if y < 0 {
			at = append(at, i)
		}
	}
	scaled := slices.Clone(rows)
	for j := range d {
		least, most := float32(math.Inf(1)), float32(math.Inf(-1))
		for _, i := range at {
			least, most = min(least, rows[i*d+j]), max(most, rows[i*d+j])
		}
		for i := range labels {
			if most > least {
				scaled[i*d+j] /= most - least
			}
		}
	}
	n, batch := len(at), make([]float32, 0, len(at)*d)
	for _, i := range at {
		batch = append(batch, scaled[i*d:i*d+d]...)
	}
	labelled, counts := sums(scaled, d, labels, k)
	means := divided(slices.Clone(labelled), counts, d)
	penalty, was := make([]float32, k), make([]float32, n*k)
	for range paddleSteps {
		s := negativeHalfDistances(batch, means, n, k, d)
		for i := range n {
			kernel.Axpy(1, penalty, s[i*k:i*k+k])
		}
		kernel.SoftmaxRows(s, n, k)
		change := 0.
		for i, v := range s {
			change += math.Abs(float64(v - was[i]))
		}
		if was = s; change < paddleSettled*float64(n) {
			break
		}
		copy(means, labelled)
		total := slices.Clone(counts)
		for i := range n {
			for c, w := range s[i*k : i*k+k] {
				if total[c] += w; w > 0 {
					kernel.Axpy(w, batch[i*d:i*d+d], means[c*d:c*d+d])
				}
			}
		}
		for c := range k {
			share := float64(total[c]-counts[c]) / float64(n)
			penalty[c] = float32(math.Log(max(share, 0)+1e-6) + 1)
		}
		divided(means, total, d)
	}
	scores := make([]float32, len(labels)*k)
	for j, i := range at {
		copy(scores[i*k:i*k+k], was[j*k:j*k+k])
	}
	return mostLikely(scores, labels, k)
}

// alphaTIM minimises the cross entropy of the labelled rows less the mutual information of rows and answers
// by Adam.
func alphaTIM(rows []float32, d int, labels []int32, k int) []int32 {
	n, labelled := len(labels), 0
	for _, y := range labels {
		if y >= 0 {
			labelled++
		}
	}
	alpha := 2. // chosen by the paper's code by the number of labelled rows of a class
	if labelled >= 5*k {
		alpha = 7
	}
	batch := float64(max(n-labelled, 1))
	sum, counts := sums(rows, d, labels, k)
	means := divided(sum, counts, d)
	first, second := make([]float64, k*d), make([]float64, k*d)
	gradient, slope := make([]float32, k*d), make([]float64, k)
	for step := 1; ; step++ {
		p := negativeHalfDistances(rows, means, n, k, d)
		kernel.Scale(timTemperature, p)
		if step > timSteps {
			return mostLikely(p, labels, k)
		}
		kernel.SoftmaxRows(p, n, k)
		marginal := make([]float64, k)
		for i, y := range labels {
			if y < 0 {
				for c, v := range p[i*k : i*k+k] {
					marginal[c] += float64(v) / batch
				}
			}
		}
		for c, v := range marginal {
			marginal[c] = math.Pow(v, alpha-1)
		}
		clear(gradient)
		back := make([]float64, k) // what each prototype's own term takes off its gradient
		for i, y := range labels {
			mean := 0.
			for c, v := range p[i*k : i*k+k] {
				if p := float64(v); y >= 0 {
					slope[c] = p / float64(labelled)
				} else {
					slope[c] = alpha / (alpha - 1) / batch * (marginal[c] - math.Pow(p, alpha-1))
					mean += p * slope[c]
				}
			}
			for c, v := range p[i*k : i*k+k] {
				g := slope[c]
				switch {
				case y < 0:
					g = float64(v) * (g - mean)
				case int(y) == c:
					g -= 1 / float64(labelled)
				}
				if g != 0 {
					kernel.Axpy(float32(timTemperature*g), rows[i*d:i*d+d], gradient[c*d:c*d+d])
					back[c] -= timTemperature * g
				}
			}
		}
		for c, g := range back {
			kernel.Axpy(float32(g), means[c*d:c*d+d], gradient[c*d:c*d+d])
		}
		correct := [2]float64{1 - math.Pow(.9, float64(step)), 1 - math.Pow(.999, float64(step))}
		for j, g := range gradient {
			first[j] = .9*first[j] + .1*float64(g)
			second[j] = .999*second[j] + .001*float64(g)*float64(g)
			means[j] -= float32(timRate * (first[j] / correct[0]) / (math.Sqrt(second[j]/correct[1]) + 1e-8))
		}
	}
}
