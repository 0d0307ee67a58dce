package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// The updates of two papers for batches of rows with a few labelled ones, which replace the papers' class
// names read by a text encoder: TransCLIP (Zanella, Gérin, Ben Ayed 2024) fits Gaussians of one shared
// diagonal covariance; StatA (Zanella, Fuchs, De Vleeschouwer, Ben Ayed 2025) fits Gaussians with one
// covariance each, and a divergence keeps them near anchors from the labelled rows. They use the batch alone.
const (
	TransCLIP = "transclip"
	StatA     = "stata"
)

// Updates lists the updates, these and those of updates_support.go.
var Updates = []string{TransCLIP, StatA, PADDLE, AlphaTIM}

// The papers' numbers, except for sharpness: their 100 is for cosines of texts and images. With labelled rows
// in place of texts, 30 is the best of 10, 30, 100 and 300 for StatA, and TransCLIP hardly depends on it.
const (
	updateSharpness  = 30
	updateSteps      = 10
	updateSweeps     = 5
	updateNeighbours = 3
	updateLabelled   = .02 // TransCLIP: weight of the mean labelled row against the mean row of the batch
	updateFirst      = .5  // TransCLIP: weight of the first answers
	updateAnchor     = 1.  // StatA: weight of the anchors, in rows
)

// update answers the unlabelled rows among unit rows; labels are -1 for them, else 0 to k-1.
func update(method string, rows []float32, d int, labels []int32, k int) []int32 {
	switch method {
	case PADDLE:
		return paddle(rows, d, labels, k)
	case AlphaTIM:
		return alphaTIM(rows, d, labels, k)
	}
	n := len(labels)
	row := func(i int) []float32 { return rows[i*d : i*d+d] }
	means, counts := make([]float64, k*d), make([]float64, k)
	for i, c := range labels {
		if c >= 0 {
			counts[c]++
			for j, v := range row(i) {
				means[int(c)*d+j] += float64(v)
			}
		}
	}
	first, batch := make([]float64, n*k), 0. // logarithms of the first answers
	for c := range k {
		length := math.Sqrt(dot(means[c*d:c*d+d], means[c*d:c*d+d]))
		for j := range d {
			means[c*d+j] /= max(length, 1e-12)
		}
	}
	z := make([]float64, n*k)
	for i, c := range labels {
		if c >= 0 {
			z[i*k+int(c)] = 1
			continue
		}
		batch++
		for c := range k {
			for j, v := range row(i) {
				first[i*k+c] += updateSharpness * float64(v) * means[c*d+j]
			}
		}
		softmaxInto(z[i*k:i*k+k], first[i*k:i*k+k])
		for c, v := range z[i*k : i*k+k] {
			first[i*k+c] = math.Log(max(v, 1e-12))
		}
	}
	neighbours := alike(rows, labels, d)
	anchors := slices.Clone(means)
	spread := make([]float64, k*d) // variances; for TransCLIP the same for every class
	for i := range spread {
		spread[i] = 1 / float64(d)
	}
	var anchored []float64
	if method == StatA {
		anchored = make([]float64, d)
		for i, y := range labels {
			for c := range k {
				if w := z[i*k+c]; y < 0 && w > 0 {
					for j, v := range row(i) {
						e := float64(v) - anchors[c*d+j]
						anchored[j] += w * e * e / max(batch, 1)
					}
				}
			}
		}
		for i := range spread {
			spread[i] = max(anchored[i%d], 1e-9)
		}
	}
	scores, mixed := make([]float64, n*k), make([]float64, k)
	for range updateSteps {
		gaussians(scores, rows, labels, means, spread, d, k, method == StatA)
		weight := updateFirst
		if method == StatA {
			weight = 1
		}
		for range updateSweeps {
			was := slices.Clone(z)
			for i, y := range labels {
				if y >= 0 {
					continue
				}
				for c := range k {
					mixed[c] = weight*first[i*k+c] + scores[i*k+c]
					for _, x := range neighbours[i] {
						mixed[c] += x.weight * was[x.at*k+c]
					}
				}
				softmaxInto(z[i*k:i*k+k], mixed)
			}
		}
		fitGaussians(method, rows, labels, z, means, spread, anchors, anchored, d, k)
	}
	out := make([]int32, n)
	for i := range out {
		at := z[i*k : i*k+k]
		out[i] = int32(slices.Index(at, slices.Max(at)))
	}
	return out
}

// gaussians computes the logarithm of each class's density at each unlabelled row.
func gaussians(out []float64, rows []float32, labels []int32, means, spread []float64, d, k int, own bool) {
	for c := range k {
		mean, variance, constant := means[c*d:c*d+d], spread[c*d:c*d+d], 0.
		if own {
			for _, v := range variance {
				constant -= math.Log(v) / 2
			}
		}
		inverse := make([]float64, d)
		for j, v := range variance {
			inverse[j] = 1 / (2 * v)
		}
		for i, y := range labels {
			if y >= 0 {
				continue
			}
			sum := constant
			for j, v := range rows[i*d : i*d+d] {
				e := float64(v) - mean[j]
				sum -= e * e * inverse[j]
			}
			out[i*k+c] = sum
		}
	}
}

// fitGaussians sets means and variances to minimise the objective. TransCLIP: weighted means; the
// labelled rows together weigh updateLabelled of the batch. StatA: those of the batch, with the anchors
// added as updateAnchor rows.
func fitGaussians(method string, rows []float32, labels []int32, z, means, spread, anchors,
	anchored []float64, d, k int,
) {
	labelled, batch := 0., 0.
	for _, y := range labels {
		if y >= 0 {
			labelled++
		} else {
			batch++
		}
	}
	weight := func(i, c int) float64 {
		switch {
		case method == StatA && labels[i] >= 0:
			return 0
		case method == StatA:
			return z[i*k+c]
		case labels[i] >= 0:
			return updateLabelled * z[i*k+c] / max(labelled, 1)
		}
		return z[i*k+c] / max(batch, 1)
	}
	shared, all := make([]float64, d), 0.
	for c := range k {
		mean, variance, total := means[c*d:c*d+d], spread[c*d:c*d+d], 0.
		prior := 0.
		if method == StatA {
			prior = updateAnchor
		}
		sum, square := make([]float64, d), make([]float64, d)
		for i := range labels {
			if w := weight(i, c); w > 1e-12 {
				total += w
				for j, v := range rows[i*d : i*d+d] {
					sum[j] += w * float64(v)
				}
			}
		}
		if total+prior <= 0 {
			continue
		}
		for j := range mean {
			mean[j] = (sum[j] + prior*anchors[c*d+j]) / (total + prior)
		}
		for i := range labels {
			if w := weight(i, c); w > 1e-12 {
				for j, v := range rows[i*d : i*d+d] {
					e := float64(v) - mean[j]
					square[j] += w * e * e
				}
			}
		}
		all += total
		for j := range variance {
			shared[j] += square[j]
			if method == StatA {
				e := mean[j] - anchors[c*d+j]
				variance[j] = max((square[j]+prior*(anchored[j]+e*e))/(total+prior), 1e-9)
			}
		}
	}
	if method == TransCLIP {
		for i := range spread {
			spread[i] = max(shared[i%d]/max(all, 1e-12), 1e-9)
		}
	}
}

// pull is the weight of a row in the answer of another.
type pull struct {
	at     int
	weight float64
}

// alike returns the updateNeighbours rows most similar to each unlabelled one, with cosines above 0.
func alike(rows []float32, labels []int32, d int) [][]pull {
	out := make([][]pull, len(labels))
	for i, y := range labels {
		if y >= 0 {
			continue
		}
		var best []pull
		for j, other := range labels {
			if j != i && other < 0 {
				best = append(best, pull{j, float64(kernel.Dot(rows[i*d:i*d+d], rows[j*d:j*d+d]))})
			}
		}
		slices.SortStableFunc(best, func(a, b pull) int { return cmp.Compare(b.weight, a.weight) })
		best = best[:min(updateNeighbours, len(best))]
		out[i] = slices.DeleteFunc(best, func(x pull) bool { return x.weight <= 0 })
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// softmaxInto writes the softmax of scores to out.
func softmaxInto(out, scores []float64) {
	most, sum := slices.Max(scores), 0.
	for i, v := range scores {
		out[i] = math.Exp(v - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
}

// updated answers a problem by an update, over rows as the solver embeds them, without a metric.
func updated(method string, p *solver.Problem) ([]int32, error) {
	s := solver.Defaults()
	s.Method, s.MetricRank = solver.Nearest, 0
	solve, err := solver.New(s)
	if err != nil {
		return nil, err
	}
	plain := *p
	if p.Embedding != nil {
		plain.Embedding = &solver.Embedding{Mean: p.Embedding.Mean}
	}
	x, err := solve.Embed(&plain)
	if err != nil {
		return nil, err
	}
	return update(method, x.Z(), p.Rows.D(), p.Labels, p.K), nil
}
